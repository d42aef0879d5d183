import { parentPort, workerData } from 'node:worker_threads';
import { guarded } from '#kit/callbacks.ts';
import { storageError } from '#kit/storage/storage-error.ts';
import { WriteBatch } from '#kit/storage/write-batch.ts';
import type { Commands } from './calls.ts';
import { type Durability, openForWriting, recordThing, setDurability } from './connection.ts';
import { copyOf } from './error-copy.ts';
import { GraphRecord } from './graph-record.ts';
import type { AnswerMessage, CallMessage } from './thread.ts';

/** What the thread of a `SingleWriter` does: commands of one durability that arrive together share a commit. */
export function performCommands(commands: Commands): void {
  const { path } = workerData as { readonly path: string };
  const port = parentPort!;
  const db = openForWriting(path);
  const record = new GraphRecord(db);
  const batches = { full: batchOf('full'), normal: batchOf('normal') };

  port.on(
    'message',
    guarded('the context record', async ({ id, name, input }: CallMessage) => {
      try {
        const value = name === 'close' ? await close() : await perform(name, input as WriteRequest);
        port.postMessage({ id, value } satisfies AnswerMessage);
      } catch (thrown) {
        port.postMessage({ id, error: copyOf(thrown) } satisfies AnswerMessage);
      }
    }),
  );

  function perform(name: string, { input, durability, journal }: WriteRequest): Promise<unknown> {
    return batches[durability].write(() => {
      record.replaying = journal?.replayed ?? false;
      const output = commands[name]!(record, input as never);
      if (journal !== undefined) record.passJournal(journal.seq);
      return output;
    });
  }

  async function close(): Promise<null> {
    await Promise.all(Object.values(batches).map((batch) => batch.write(() => null)));
    db.close();
    return null;
  }

  function batchOf(durability: Durability): WriteBatch {
    return new WriteBatch(db, {
      begin: () => setDurability(db, durability),
      explain(error) {
        record.forgetChanges();
        return storageError(error, path, recordThing);
      },
    });
  }
}

/** One call of a command, as `SingleWriter` sends it. */
export interface WriteRequest {
  readonly input: unknown;
  readonly durability: Durability;
  /** Where the command stands in the journal, and whether it is performed again from there. */
  readonly journal?: { readonly seq: number; readonly replayed: boolean };
}
