import { closeSync, fdatasync, openSync } from 'node:fs';
import { guarded } from '../callbacks.ts';
import { codeOf } from '../errors.ts';

/**
 * Brings the log of a database to the disk beside the event loop, within `ms` of a commit. SQLite holds no lock on the log: to close
 * another file of the database here would release the locks of the whole process.
 */
export class LogSync {
  readonly #log: string;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> = Promise.resolve();

  constructor(database: string, ms: number) {
    this.#log = `${database}-wal`;
    this.#ms = ms;
  }

  committed(): void {
    this.#timer ??= setTimeout(
      guarded('the log of a database', () => {
        this.#timer = undefined;
        this.#syncing = this.#syncing.then(() => this.#sync());
      }),
      this.#ms,
    ).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#syncing;
  }

  async #sync(): Promise<void> {
    const error = await syncFile(this.#log);
    // Without a log, the database file already has everything.
    if (error !== null && codeOf(error) !== 'ENOENT') this.committed();
  }
}

async function syncFile(path: string): Promise<unknown> {
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch (error) {
    return error;
  }
  const error = await new Promise((resolve) => fdatasync(file, resolve));
  closeSync(file);
  return error ?? null;
}
