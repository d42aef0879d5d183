import type { Commands, Inputs, Outputs, RecordWriter } from './calls.ts';
import type { Durability } from './connection.ts';
import type { WriteRequest } from './perform-commands.ts';
import { Thread } from './thread.ts';

/** Resolves when nobody waits for an answer. */
export interface Idle {
  idle(maxMs: number): Promise<void>;
}

/** Keeps commands elsewhere before they are performed here, so that another host can perform them again. */
export interface Journal {
  keeps(command: string): boolean;
  /** Resolves with the place of the command, one after another in their order. It is durable then. */
  append(command: string, input: unknown): Promise<number>;
  /** Takes out what was refused: performed again, it could be accepted. */
  withdraw(seq: number): Promise<void>;
}

/** Milliseconds for which a write that can wait lets searches go first; more would stop an ingestion that many search through. */
const maxDelayMs = 40;

/**
 * The record's only writer, in a thread of its own. Calls that arrive together are committed together; one that is refused takes
 * nothing of the others back. A promise that resolves is a commit of the asked durability. Writes of durability `normal`, which
 * nobody waits for, are done in their order while `readers` are idle, or not much later.
 */
export class SingleWriter<C extends Commands> implements RecordWriter<C> {
  readonly #thread: Thread;
  readonly #readers: Idle | undefined;
  readonly #journal: Journal | null;
  /** Resolves when each command of the journal up to now is performed or withdrawn. */
  #decided: Promise<unknown> = Promise.resolve();
  #deferred: Promise<void> = Promise.resolve();

  /**
   * @param script a module that calls `performCommands`
   * @param path of the SQLite file, which exists and is migrated
   */
  constructor(script: URL, path: string, readers?: Idle, journal: Journal | null = null) {
    this.#readers = readers;
    this.#journal = journal;
    this.#thread = new Thread(script, { path });
  }

  run<Name extends keyof C>(
    command: Name,
    input: Inputs<C>[Name],
    durability: Durability = 'full',
  ): Promise<Outputs<C>[Name]> {
    const name = String(command);
    if (this.#journal?.keeps(name)) return this.#performJournaled(this.#journal, name, input, durability);
    const perform = () => this.#perform<Outputs<C>[Name]>(name, { input, durability });
    const readers = this.#readers;
    if (durability === 'full' || readers === undefined) return perform();
    this.#deferred = this.#deferred.then(() => readers.idle(maxDelayMs));
    return this.#deferred.then(perform);
  }

  /** Performs a command of the journal again, which may be known here already by now. */
  replay(command: string, input: unknown, seq: number): Promise<unknown> {
    return this.#perform(command, { input, durability: 'normal', journal: { seq, replayed: true } });
  }

  /** Acknowledges nothing before all that stands ahead of it in the journal is decided: another host sees the same, in the same order. */
  async #performJournaled<Output>(
    journal: Journal,
    command: string,
    input: unknown,
    durability: Durability,
  ): Promise<Output> {
    const seq = await journal.append(command, input);
    const ahead = this.#decided;
    const request = { input, durability, journal: { seq, replayed: false } };
    const performed = this.#perform<Output>(command, request).catch(async (error) => {
      // What a thread that ended has done is not known: the journal says it again.
      if (!this.#thread.hasEnded) await journal.withdraw(seq);
      throw error;
    });
    this.#decided = Promise.allSettled([ahead, performed]);
    await ahead;
    return performed;
  }

  #perform<Output>(command: string, request: WriteRequest): Promise<Output> {
    return this.#thread.call<Output>(command, request);
  }

  get hasEnded(): boolean {
    return this.#thread.hasEnded;
  }

  /** Resolves with the reason when nothing can be written any more. */
  get ended(): Promise<Error> {
    return this.#thread.ended;
  }

  get damaged(): Promise<Error> {
    return this.#thread.damaged;
  }

  async close(): Promise<void> {
    await this.#deferred;
    if (this.#thread.started) await this.#thread.call('close', null);
    await this.#thread.close();
  }
}
