import { guarded } from './callbacks.ts';
import { exitCodes, messageOf } from './errors.ts';

export interface ShutdownOptions {
  /** Milliseconds for all closers together. */
  readonly deadlineMs?: number;
  readonly warn?: (message: string) => void;
}

/** The orderly end of a process: what was opened last is closed first. */
export class Shutdown {
  readonly #abort = new AbortController();
  readonly #closers: { readonly name: string; readonly close: () => unknown }[] = [];
  readonly #deadlineMs: number;
  readonly #warn: (message: string) => void;
  #closing: Promise<boolean> | null = null;

  constructor(options: ShutdownOptions = {}) {
    this.#deadlineMs = options.deadlineMs ?? 10_000;
    this.#warn = options.warn ?? (() => {});
  }

  /** Aborted as soon as the end begins: long work stops by it. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  add(name: string, close: () => unknown): void {
    this.#closers.push({ name, close });
  }

  /** Closes everything once; false when a closer failed or the deadline passed. */
  close(reason: string): Promise<boolean> {
    this.#closing ??= this.#closeAll(reason);
    return this.#closing;
  }

  /**
   * Ends the process at SIGINT or SIGTERM, and when the parent that started it with a channel is gone. A second signal
   * ends it at once.
   */
  listen(exit: (code: number) => void = (code) => process.exit(code)): void {
    const end = (signal: 'SIGINT' | 'SIGTERM' | 'disconnect') => {
      const code = signal === 'SIGINT' ? exitCodes.interrupted : exitCodes.done;
      if (this.#closing !== null) return signal === 'disconnect' ? undefined : exit(exitCodes.interrupted);
      this.close(signal).then(
        (clean) => exit(clean ? code : exitCodes.failed),
        () => exit(exitCodes.failed),
      );
    };
    process.on(
      'SIGINT',
      guarded('the shutdown', () => end('SIGINT')),
    );
    process.on(
      'SIGTERM',
      guarded('the shutdown', () => end('SIGTERM')),
    );
    if (process.channel == null) return;
    process.on(
      'disconnect',
      guarded('the shutdown', () => end('disconnect')),
    );
    process.channel.unref();
  }

  async #closeAll(reason: string): Promise<boolean> {
    this.#abort.abort(new Error(`ending: ${reason}`));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), this.#deadlineMs);
    });
    let clean = true;
    for (const { name, close } of this.#closers.toReversed()) {
      const ended = await Promise.race([this.#closeOne(name, close), late]);
      if (ended === 'late') this.#warn(`${name} did not end within ${this.#deadlineMs} ms`);
      clean &&= ended === true;
    }
    clearTimeout(timer);
    return clean;
  }

  async #closeOne(name: string, close: () => unknown): Promise<boolean> {
    try {
      await close();
      return true;
    } catch (error) {
      this.#warn(`${name} did not end well: ${messageOf(error)}`);
      return false;
    }
  }
}
