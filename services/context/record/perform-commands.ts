import type { DatabaseSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { storageError } from '#kit/storage/storage-error.ts';
import type { Commands } from './calls.ts';
import { type Durability, openForWriting, recordThing, setDurability } from './connection.ts';
import { copyOf } from './error-copy.ts';
import { GraphRecord } from './graph-record.ts';
import type { AnswerMessage, CallMessage } from './thread.ts';

/** The caller of a short command does not wait for many long ones. */
const defaultMaxMs = 25;

/** Performs commands in one transaction each group. One that fails rolls back itself, and nothing of the others. */
export class GroupCommit {
  readonly #db: DatabaseSync;
  readonly #record: GraphRecord;
  readonly #commands: Commands;
  readonly #maxMs: number;
  #durability: Durability = 'full';

  /** @param maxMs milliseconds after which a group is closed */
  constructor(db: DatabaseSync, commands: Commands, maxMs = defaultMaxMs) {
    this.#maxMs = maxMs;
    this.#db = db;
    this.#record = new GraphRecord(db);
    this.#commands = commands;
  }

  /**
   * Performs the first of the calls, until one fails or the time is over, and commits them.
   * @returns their answers, none of which is true before the commit; the calls after them are still to do
   */
  commitSome(calls: readonly CallMessage[]): AnswerMessage[] {
    const answers: AnswerMessage[] = [];
    let taken = 0;
    try {
      this.#sync(calls.some(({ input }) => durabilityOf(input) === 'full') ? 'full' : 'normal');
      this.#db.exec('BEGIN IMMEDIATE');
      const end = performance.now() + this.#maxMs;
      for (const call of calls) {
        taken++;
        const answer = this.#perform(call);
        if ('error' in answer) return this.#commitBefore(calls.slice(0, answers.length), answer);
        answers.push(answer);
        if (performance.now() > end) break;
      }
      this.#db.exec('COMMIT');
      return answers;
    } catch (thrown) {
      this.#rollBack();
      const error = this.#copyOf(thrown);
      return calls.slice(0, Math.max(1, taken)).map(({ id }) => ({ id, error }));
    }
  }

  /** Performs again what came before a command that failed. */
  #commitBefore(calls: readonly CallMessage[], failed: AnswerMessage): AnswerMessage[] {
    this.#rollBack();
    const before = calls.length === 0 ? [] : this.commitSome(calls);
    return before.length < calls.length ? before : [...before, failed];
  }

  #rollBack(): void {
    // A full disk ends a transaction by itself.
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    this.#record.forgetChanges();
  }

  /** @throws what ended the transaction */
  #perform({ id, name, input }: CallMessage): AnswerMessage {
    try {
      const command = this.#commands[name];
      if (command === undefined) throw new TypeError(`there is no command ${name}`);
      return { id, value: command(this.#record, (input as { input: never }).input) };
    } catch (thrown) {
      if (!this.#db.isTransaction) throw thrown;
      return { id, error: this.#copyOf(thrown) };
    }
  }

  #copyOf(thrown: unknown) {
    return copyOf(storageError(thrown, this.#db.location() ?? '', recordThing));
  }

  #sync(wanted: Durability): void {
    if (wanted !== this.#durability) setDurability(this.#db, wanted);
    this.#durability = wanted;
  }
}

function durabilityOf(input: unknown): Durability {
  return (input as { durability: Durability }).durability;
}

const maxGroup = 256;

/** What the thread of a `SingleWriter` does: what was asked meanwhile is committed together. */
export function performCommands(commands: Commands): void {
  const { path } = workerData as { readonly path: string };
  const port = parentPort!;
  const db = openForWriting(path);
  const group = new GroupCommit(db, commands);

  port.on('message', (first: CallMessage) => {
    const waiting = [first];
    while (waiting.length > 0) {
      takeWaiting(waiting);
      const close = waiting.findIndex(({ name }) => name === 'close');
      const calls = close === -1 ? waiting : waiting.slice(0, close);
      if (calls.length === 0) {
        db.close();
        port.postMessage([{ id: waiting[close]!.id, value: null }]);
        return;
      }
      const answers = group.commitSome(calls);
      port.postMessage(answers);
      waiting.splice(0, answers.length);
    }
  });

  function takeWaiting(waiting: CallMessage[]): void {
    while (waiting.length < maxGroup) {
      const next = receiveMessageOnPort(port);
      if (next === undefined) return;
      waiting.push(next.message as CallMessage);
    }
  }
}
