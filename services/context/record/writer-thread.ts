import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type Durability, openForWriting, setDurability } from './connection.ts';
import { copyOf } from './error-copy.ts';
import { GraphRecord } from './graph-record.ts';
import type { AnswerMessage, CallMessage } from './thread.ts';
import { writeCommands } from './write-commands.ts';
import type { WriteRequest } from './writer.ts';

const { path } = workerData as { readonly path: string };
const port = parentPort!;
const db = openForWriting(path);
const record = new GraphRecord(db);
const begin = db.prepare('BEGIN IMMEDIATE');
const commit = db.prepare('COMMIT');
const rollback = db.prepare('ROLLBACK');
const mark = db.prepare('SAVEPOINT command');
const release = db.prepare('RELEASE command');
const undo = db.prepare('ROLLBACK TO command');
const most = 256;
let durability: Durability = 'full';

port.on('message', (first: CallMessage) => {
  const group = [first];
  while (group.length < most) {
    const next = receiveMessageOnPort(port);
    if (next === undefined) break;
    group.push(next.message as CallMessage);
  }
  for (const answer of commitTogether(group.filter(({ name }) => name !== 'close'))) port.postMessage(answer);
  const last = group.find(({ name }) => name === 'close');
  if (last === undefined) return;
  db.close();
  port.postMessage({ id: last.id, value: null });
});

/** Nothing is answered before all of it is committed. */
function commitTogether(calls: readonly CallMessage[]): AnswerMessage[] {
  if (calls.length === 0) return [];
  try {
    const wanted = calls.some(({ input }) => (input as WriteRequest).durability === 'full')
      ? 'full'
      : 'normal';
    if (wanted !== durability) setDurability(db, wanted);
    durability = wanted;
    begin.run();
    const answers = calls.map(perform);
    commit.run();
    return answers;
  } catch (thrown) {
    // A full disk ends a transaction by itself.
    if (db.isTransaction) rollback.run();
    record.forgetChanges();
    return calls.map(({ id }) => ({ id, error: copyOf(thrown) }));
  }
}

function perform({ id, name, input }: CallMessage): AnswerMessage {
  mark.run();
  try {
    const command = writeCommands[name as keyof typeof writeCommands] as (
      record: GraphRecord,
      input: unknown,
    ) => unknown;
    const value = command(record, (input as WriteRequest).input);
    release.run();
    return { id, value };
  } catch (thrown) {
    if (!db.isTransaction) throw thrown;
    undo.run();
    release.run();
    record.forgetChanges();
    return { id, error: copyOf(thrown) };
  }
}
