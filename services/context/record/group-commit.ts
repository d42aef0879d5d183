import type { DatabaseSync } from 'node:sqlite';
import type { Commands } from './calls.ts';
import { type Durability, setDurability } from './connection.ts';
import { copyOf } from './error-copy.ts';
import { GraphRecord } from './graph-record.ts';
import { storageError } from './storage-error.ts';
import type { AnswerMessage, CallMessage } from './thread.ts';

const longestMs = 25;

/** @returns null where the command failed */
type Perform = (call: CallMessage) => AnswerMessage | null;

/** Performs commands in one transaction each group. One that fails takes back what it did, and nothing of the others. */
export class GroupCommit {
  readonly #db: DatabaseSync;
  readonly #record: GraphRecord;
  readonly #commands: Commands;
  readonly #longest: number;
  #durability: Durability = 'full';

  /** @param longest milliseconds after which a group is closed: who waits for a short command does not wait for many long ones */
  constructor(db: DatabaseSync, commands: Commands, longest = longestMs) {
    this.#longest = longest;
    this.#db = db;
    this.#record = new GraphRecord(db);
    this.#commands = commands;
  }

  /**
   * Performs the first of the calls, as many as there is time for, and commits them.
   * @returns their answers, of which none is true before the commit; the calls after them are still to do
   */
  commitSome(calls: readonly CallMessage[]): AnswerMessage[] {
    // A savepoint makes each command write its part of the text index by itself: only where one of them fails.
    return (
      this.#commit(calls, (call) => this.#perform(call)) ??
      this.#commit(calls, (call) => this.#performApart(call))!
    );
  }

  /** @returns null where one failed; nothing is done then */
  #commit(calls: readonly CallMessage[], perform: Perform): AnswerMessage[] | null {
    const taken: CallMessage[] = [];
    try {
      this.#sync(calls.some(({ input }) => durabilityOf(input) === 'full') ? 'full' : 'normal');
      this.#db.exec('BEGIN IMMEDIATE');
      const end = performance.now() + this.#longest;
      const answers: AnswerMessage[] = [];
      for (const call of calls) {
        taken.push(call);
        const answer = perform(call);
        if (answer === null) return this.#takeBack();
        answers.push(answer);
        if (performance.now() > end) break;
      }
      this.#db.exec('COMMIT');
      return answers;
    } catch (thrown) {
      this.#takeBack();
      const error = copyOf(storageError(thrown));
      return (taken.length === 0 ? calls : taken).map(({ id }) => ({ id, error }));
    }
  }

  #takeBack(): null {
    // A full disk ends a transaction by itself.
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    this.#record.forgetChanges();
    return null;
  }

  #perform({ id, name, input }: CallMessage): AnswerMessage | null {
    try {
      return { id, value: this.#run(name, input) };
    } catch (thrown) {
      if (!this.#db.isTransaction) throw thrown;
      return null;
    }
  }

  #performApart({ id, name, input }: CallMessage): AnswerMessage {
    this.#db.exec('SAVEPOINT command');
    try {
      const value = this.#run(name, input);
      this.#db.exec('RELEASE command');
      return { id, value };
    } catch (thrown) {
      if (!this.#db.isTransaction) throw thrown;
      this.#db.exec('ROLLBACK TO command; RELEASE command');
      this.#record.forgetChanges();
      return { id, error: copyOf(storageError(thrown)) };
    }
  }

  #run(name: string, input: unknown): unknown {
    const command = this.#commands[name];
    if (command === undefined) throw new TypeError(`there is no command ${name}`);
    return command(this.#record, (input as { input: never }).input);
  }

  #sync(wanted: Durability): void {
    if (wanted !== this.#durability) setDurability(this.#db, wanted);
    this.#durability = wanted;
  }
}

function durabilityOf(input: unknown): Durability {
  return (input as { durability: Durability }).durability;
}
