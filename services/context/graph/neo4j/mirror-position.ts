import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Position } from '../changes.ts';

/** What a mirror had seen when it was written last. */
export interface KeptPosition {
  readonly position: Position;
  /** The database's own id. */
  readonly database: string;
  /** Of the transaction that the position is true of. */
  readonly bookmarks: readonly string[];
}

/** One position in a file of ours: in the mirror itself it would be a node among those that callers count. */
export class MirrorPosition {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** null: there is none that can be read. */
  read(): KeptPosition | null {
    try {
      const kept = JSON.parse(readFileSync(this.#file, 'utf8')) as KeptPosition;
      return typeof kept.position.record === 'string' && Array.isArray(kept.bookmarks) ? kept : null;
    } catch {
      return null;
    }
  }

  write(kept: KeptPosition): void {
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    writeFileSync(`${this.#file}.next`, JSON.stringify(kept), { mode: 0o600 });
    renameSync(`${this.#file}.next`, this.#file);
  }

  remove(): void {
    rmSync(this.#file, { force: true });
  }
}
