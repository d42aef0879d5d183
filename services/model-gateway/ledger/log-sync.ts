import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf } from '#kit/errors.ts';

/**
 * Brings SQLite's log of changes to the disk, off the event loop, so that a power cut costs moments and not what the system
 * still keeps in memory. The log is the one file of a database that SQLite holds no lock on: to close another of its files here
 * would let go of the locks of the whole process.
 */
export class LogSync {
  readonly #path: string;
  #handle: FileHandle | null = null;
  #running: Promise<boolean> | null = null;

  /** @param path of the SQLite file */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Resolves with whether it could be done; the next one tries again. */
  sync(): Promise<boolean> {
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

  async #sync(): Promise<boolean> {
    try {
      this.#handle ??= await open(this.#path, 'r+');
      await this.#handle.datasync();
      return true;
    } catch {
      // Without a log nothing was written; a full disk is told where calls are refused.
      return false;
    }
  }
}

/** The same at once, where there is a log. */
export function syncLog(path: string): void {
  let log: number;
  try {
    log = openSync(`${path}-wal`, 'r+');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    fdatasyncSync(log);
  } finally {
    closeSync(log);
  }
}
