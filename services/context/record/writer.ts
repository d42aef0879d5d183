import type { Durability } from './connection.ts';
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

/**
 * The record's only writer, in a thread of its own. Calls that wait together are committed together; a call that fails takes
 * nothing of the others back. A promise that resolves is a commit of the asked durability.
 */
export class Writer {
  readonly #thread: Thread;

  /** @param path of the SQLite file, which exists and is migrated */
  constructor(path: string) {
    this.#thread = new Thread(new URL('./writer-thread.ts', import.meta.url), { path });
  }

  run<C extends WriteCommand>(
    command: C,
    input: InputOf<C>,
    durability: Durability = 'full',
  ): Promise<OutputOf<C>> {
    return this.#thread.call(command, { input, durability } satisfies WriteRequest<C>);
  }

  /** Resolves with the reason when nothing can be written any more. */
  get ended(): Promise<Error> {
    return this.#thread.ended;
  }

  get damaged(): Promise<Error> {
    return this.#thread.damaged;
  }

  close(): Promise<void> {
    return this.#thread.call('close', null).then(() => this.#thread.close());
  }
}
