import { type FileHandle, open } from 'node:fs/promises';

/**
 * Brings SQLite's log of changes to the disk, off the event loop, so that a power cut costs moments and not what the system
 * still keeps in memory. The log is the one file of a database that SQLite holds no lock on: to close another of its files here
 * would let go of the locks of the whole process.
 */
export class LogSync {
  readonly #path: string;
  #handle: FileHandle | null = null;
  #running: Promise<void> | null = null;

  /** @param path of the SQLite file */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Resolves when it is done, or could not be; the next one tries again. */
  sync(): Promise<void> {
    this.#running ??= this.#sync().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    await this.#running;
    await this.#handle?.close();
    this.#handle = null;
  }

  async #sync(): Promise<void> {
    try {
      this.#handle ??= await open(this.#path, 'r+');
      await this.#handle.datasync();
    } catch {
      // Without a log nothing was written; a full disk is told where calls are refused.
    }
  }
}
