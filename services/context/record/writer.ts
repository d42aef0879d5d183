import type { Durability } from './connection.ts';
import type { Readers } from './readers.ts';
import { Thread } from './thread.ts';
import type { WriteCommands } from './write-commands.ts';

export type WriteCommand = keyof WriteCommands;
export type InputOf<C extends WriteCommand> = Parameters<WriteCommands[C]>[1];
export type OutputOf<C extends WriteCommand> = ReturnType<WriteCommands[C]>;

/** What the writer's thread is asked. */
export interface WriteRequest<C extends WriteCommand = WriteCommand> {
  readonly input: InputOf<C>;
  readonly durability: Durability;
}

/** Milliseconds for which a write that can wait lets searches go first; more would stop an ingestion that many search through. */
const longestWait = 40;

/**
 * The record's only writer, in a thread of its own. Calls that wait together are committed together; a call that fails takes
 * nothing of the others back. A promise that resolves is a commit of the asked durability. Writes of durability `normal`, which
 * nobody waits for, are done in their order while `readers` are idle, or not much later.
 */
export class Writer {
  readonly #thread: Thread;
  readonly #readers: Pick<Readers, 'idle'> | undefined;
  #turn: Promise<void> = Promise.resolve();

  /**
   * The thread starts with the first write, or when all around has started.
   * @param path of the SQLite file, which exists and is migrated
   */
  constructor(path: string, readers?: Pick<Readers, 'idle'>) {
    this.#readers = readers;
    this.#thread = new Thread(new URL('./writer-thread.ts', import.meta.url), { path }, 'when asked');
  }

  run<C extends WriteCommand>(
    command: C,
    input: InputOf<C>,
    durability: Durability = 'full',
  ): Promise<OutputOf<C>> {
    const request: WriteRequest<C> = { input, durability };
    const readers = this.#readers;
    if (durability === 'full' || readers === undefined) return this.#thread.call(command, request);
    this.#turn = this.#turn.then(() => readers.idle(longestWait));
    return this.#turn.then(() => this.#thread.call(command, request));
  }

  /** Resolves with the reason when nothing can be written any more. */
  get ended(): Promise<Error> {
    return this.#thread.ended;
  }

  get damaged(): Promise<Error> {
    return this.#thread.damaged;
  }

  async close(): Promise<void> {
    await this.#turn;
    if (this.#thread.started) await this.#thread.call('close', null);
    await this.#thread.close();
  }
}
