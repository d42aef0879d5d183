import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '#kit/database/database.ts';
import { replaceFile } from '#kit/durable-file.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { artifactsName } from '../log/run-folder.ts';
import type { RunArtifacts } from '../rows/run-artifacts.ts';
import { storageError } from '../storage-error.ts';
import { writeMirror } from './write-mirror.ts';

interface HostMirrorParts {
  readonly stateDir: string;
  readonly database: Database;
  readonly artifacts: RunArtifacts;
  readonly warn: (message: string) => void;
}

/** Codes of errors that mean the disk accepts no writes. */
const diskCodes = ['disk_full', 'state_not_writable'];

/**
 * This host's folders of runs. They are copies, so a disk that accepts no writes does not stop the work on a run. The error is reported
 * once. Folders that could not be written follow with the next folder that can.
 */
export class HostMirror {
  readonly #parts: HostMirrorParts;
  /** Runs whose folders are behind the database. */
  readonly #behind = new Set<string>();

  constructor(parts: HostMirrorParts) {
    this.#parts = parts;
  }

  /** @throws errors that the disk of this host did not cause */
  async follow(runId: string): Promise<void> {
    if (!(await this.#written(runId)) || this.#behind.size === 0) return;
    for (const other of [...this.#behind]) if (!(await this.#written(other))) return;
    this.#parts.warn(`${this.#parts.stateDir} can be written again: folders of runs are up to date`);
  }

  /**
   * Saves a stored artifact, in case the database loses it before the folder is written next.
   * @throws errors that the disk of this host did not cause
   */
  async keep(runId: string, digest: string, content: Uint8Array): Promise<void> {
    const folder = join(this.#parts.stateDir, 'runs', runId, artifactsName);
    if (!existsSync(folder)) return this.follow(runId);
    const path = join(folder, digest);
    await this.#toDisk(runId, async () => {
      if (!existsSync(path)) replaceFile(path, content);
    });
  }

  /** @throws Failed (`disk_full`, `state_not_writable`), Conflict (`database_behind`) */
  async rewrite(runId: string): Promise<void> {
    const { database, artifacts, stateDir } = this.#parts;
    try {
      await writeMirror(database, artifacts, { stateDir, runId }, true);
    } catch (error) {
      throw storageError(error, stateDir);
    }
    this.#behind.delete(runId);
  }

  async #written(runId: string): Promise<boolean> {
    const { database, artifacts, stateDir } = this.#parts;
    const isWritten = await this.#toDisk(runId, () => writeMirror(database, artifacts, { stateDir, runId }));
    if (isWritten) this.#behind.delete(runId);
    return isWritten;
  }

  /** @returns false if the disk accepts no writes */
  async #toDisk(runId: string, write: () => Promise<void>): Promise<boolean> {
    const { stateDir, warn } = this.#parts;
    try {
      await write();
      return true;
    } catch (thrown) {
      const error = storageError(thrown, stateDir);
      if (!diskCodes.includes(codeOf(error))) throw thrown;
      if (this.#behind.size === 0)
        warn(
          `the folder of run ${runId} on this host is behind the database, which has all of it (${messageOf(error)}). The run goes on; ./core mirror ${runId} writes the folder when that is mended`,
        );
      this.#behind.add(runId);
      return false;
    }
  }
}
