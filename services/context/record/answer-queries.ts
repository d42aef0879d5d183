import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { guarded } from '#kit/callbacks.ts';
import { storageError } from '#kit/storage/storage-error.ts';
import type { Queries } from './calls.ts';
import { openForReading, recordThing } from './connection.ts';
import { copyOf } from './error-copy.ts';
import type { AnswerMessage, CallMessage } from './thread.ts';

/** What a thread of `ReaderPool` does. The record is opened by the first question: the thread starts while it is still made ready. */
export function answerQueries(queries: Queries): void {
  const { path } = workerData as { readonly path: string };
  const port = parentPort!;
  let opened: ReturnType<typeof open> | null = null;

  port.on(
    'message',
    guarded('the context record', ({ id, name, input }: CallMessage) =>
      port.postMessage(answer(id, name, input)),
    ),
  );

  function answer(id: number, name: string, input: unknown): AnswerMessage {
    try {
      opened ??= open(path);
      const { db, begin, end } = opened;
      const query = queries[name] as (db: DatabaseSync, input: unknown) => unknown;
      begin.run();
      const value = query(db, input);
      end.run();
      return { id, value };
    } catch (thrown) {
      leave();
      return { id, error: copyOf(storageError(thrown, path, recordThing)) };
    }
  }

  /** After a question that failed. A damaged file may refuse this too: the next question then has a connection of its own. */
  function leave(): void {
    try {
      if (opened?.db.isTransaction) opened.db.exec('ROLLBACK');
    } catch {
      opened?.db.close();
      opened = null;
    }
  }
}

function open(path: string) {
  const db = openForReading(path);
  return { db, begin: db.prepare('BEGIN'), end: db.prepare('COMMIT') };
}
