import { codeOf, messageOf } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/database.ts';
import { storageError } from '../storage-error.ts';
import { writeMirror } from './mirror.ts';
import type { RunArtifacts } from './run-artifacts.ts';

interface HostMirrorParts {
  readonly stateDir: string;
  readonly database: Database;
  readonly artifacts: RunArtifacts;
  readonly warn: (message: string) => void;
}

/** What a disk that takes nothing is reported as. */
const diskCodes = ['disk_full', 'state_not_writable'];

/**
 * This host's folders of runs. They are copies: a disk that takes nothing does not stop the work on a run. It is reported once, and
 * what was not written is written with the next folder that can be.
 */
export class HostMirror {
  readonly #parts: HostMirrorParts;
  /** Runs whose folders are behind the database. */
  readonly #behind = new Set<string>();

  constructor(parts: HostMirrorParts) {
    this.#parts = parts;
  }

  /** @throws what is no matter of this host's disk */
  async follow(runId: string): Promise<void> {
    if (!(await this.#written(runId)) || this.#behind.size === 0) return;
    for (const other of [...this.#behind]) if (!(await this.#written(other))) return;
    this.#parts.warn(`${this.#parts.stateDir} can be written again: folders of runs are up to date`);
  }

  /** @throws Failed (`disk_full`, `state_not_writable`), Conflict (`database_behind`) */
  async rewrite(runId: string): Promise<void> {
    const { database, artifacts, stateDir } = this.#parts;
    try {
      await writeMirror(database, artifacts, { stateDir, runId, rewrite: true });
    } catch (error) {
      throw storageError(error, stateDir);
    }
    this.#behind.delete(runId);
  }

  async #written(runId: string): Promise<boolean> {
    const { database, artifacts, stateDir, warn } = this.#parts;
    try {
      await writeMirror(database, artifacts, { stateDir, runId });
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
    this.#behind.delete(runId);
    return true;
  }
}
