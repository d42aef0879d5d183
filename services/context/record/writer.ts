import { Failed } from '#kit/errors.ts';
import type { Durability } from './connection.ts';
import type { Readers } from './readers.ts';
import { othersStartedMs, Thread } from './thread.ts';
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
  readonly #path: string;
  readonly #readers: Pick<Readers, 'idle'> | undefined;
  readonly #late: NodeJS.Timeout;
  #thread: Thread | null = null;
  #closed = false;
  #turn: Promise<void> = Promise.resolve();
  /** Resolves with the reason when nothing can be written any more. */
  readonly ended: Promise<Error>;
  readonly damaged: Promise<Error>;
  #tellEnd: (error: Error) => void = () => {};
  #tellDamage: (error: Error) => void = () => {};

  /**
   * The thread starts with the first write, or when all around has started.
   * @param path of the SQLite file, which exists and is migrated
   */
  constructor(path: string, readers?: Pick<Readers, 'idle'>) {
    this.#path = path;
    this.#readers = readers;
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
    this.damaged = new Promise((resolve) => {
      this.#tellDamage = resolve;
    });
    this.#late = setTimeout(() => this.#started(), othersStartedMs).unref();
  }

  run<C extends WriteCommand>(
    command: C,
    input: InputOf<C>,
    durability: Durability = 'full',
  ): Promise<OutputOf<C>> {
    if (this.#closed) return Promise.reject(new Failed('thread_ended', 'the writer was closed'));
    const request: WriteRequest<C> = { input, durability };
    const readers = this.#readers;
    if (durability === 'full' || readers === undefined) return this.#started().call(command, request);
    this.#turn = this.#turn.then(() => readers.idle(longestWait));
    return this.#turn.then(() => this.#started().call(command, request));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#late);
    await this.#turn;
    await this.#thread?.call('close', null);
    await this.#thread?.close();
  }

  #started(): Thread {
    if (this.#thread !== null) return this.#thread;
    const thread = new Thread(new URL('./writer-thread.ts', import.meta.url), { path: this.#path });
    void thread.ended.then(this.#tellEnd);
    void thread.damaged.then(this.#tellDamage);
    this.#thread = thread;
    return thread;
  }
}
