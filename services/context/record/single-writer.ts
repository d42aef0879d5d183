import type { Commands, Inputs, Outputs, RecordWriter } from './calls.ts';
import type { Durability } from './connection.ts';
import type { WriteRequest } from './perform-commands.ts';
import { Thread } from './thread.ts';

/** Resolves when nobody waits for an answer. */
export interface Idle {
  idle(maxMs: number): Promise<void>;
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
  #deferred: Promise<void> = Promise.resolve();

  /**
   * @param script a module that calls `performCommands`
   * @param path of the SQLite file, which exists and is migrated
   */
  constructor(script: URL, path: string, readers?: Idle) {
    this.#readers = readers;
    this.#thread = new Thread(script, { path });
  }

  run<Name extends keyof C>(
    command: Name,
    input: Inputs<C>[Name],
    durability: Durability = 'full',
  ): Promise<Outputs<C>[Name]> {
    const request: WriteRequest = { input, durability };
    const perform = () => this.#thread.call<Outputs<C>[Name]>(String(command), request);
    const readers = this.#readers;
    if (durability === 'full' || readers === undefined) return perform();
    this.#deferred = this.#deferred.then(() => readers.idle(maxDelayMs));
    return this.#deferred.then(perform);
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
