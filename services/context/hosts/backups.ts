import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { crashPoint } from '#kit/crash-point.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';
import { openForReading } from '../record/connection.ts';
import { notedDamage } from '../record/recovery.ts';
import { type Backup, type BackupRows, objectOf, type Piece } from './backup-rows.ts';
import { FilePieces, forEachPiece } from './file-pieces.ts';
import { copyRecord, recordFacts } from './record-copy.ts';

export interface BackupParts {
  readonly rows: BackupRows;
  readonly store: ObjectStore;
  /** Of the SQLite file. */
  readonly path: string;
  /** As `backup` of context.json. */
  readonly settings: { readonly seconds: number; readonly keep: number };
  readonly logger: Logger;
}

export interface BackupState {
  /** When the newest backup was made. */
  readonly at: Date | null;
  /** For how many seconds the record has held what no backup holds; 0 where all is in one. */
  readonly behindSeconds: number;
  /** Why the last attempt failed; null after one that succeeded. */
  readonly problem: string | null;
}

/** Milliseconds between looks for changes. */
const lookMs = 1_000;
/** How long, in milliseconds, the last backup may take while the service ends. */
const lastMs = 8_000;

/** Copies the record into the bucket while it changes: only pieces that the backup before does not have are written. */
export class Backups {
  readonly #parts: BackupParts;
  readonly #ending = new AbortController();
  /** Pieces that are in the bucket and will stay there, by digest; null where that is to be asked. */
  #known: Map<string, Piece> | null = null;
  #at: Date | null = null;
  #problem: string | null = null;
  #behindSince: number | null = null;
  #watch: DatabaseSync | null = null;
  /** SQLite's number of the state that the newest backup holds. */
  #seen: number | null = null;
  #taking: Promise<void> = Promise.resolve();
  #loop: Promise<void> = Promise.resolve();

  /** @param at when the newest backup was made, if there is one */
  constructor(parts: BackupParts, at: Date | null) {
    this.#parts = parts;
    this.#at = at;
  }

  /** From now on it makes backups by itself. */
  begin(): void {
    this.#loop = this.#run();
  }

  state(): BackupState {
    const since = this.#behindSince;
    return {
      at: this.#at,
      behindSeconds: since === null ? 0 : Math.round((performance.now() - since) / 1000),
      problem: this.#problem,
    };
  }

  /**
   * Makes one now, after the one that is being made. Resolves when it is named and what nothing needs any more is deleted.
   * @param keep how many backups are left then, this one included
   */
  take(keep = this.#parts.settings.keep): Promise<void> {
    const taken = this.#taking.then(() => this.#take(keep));
    this.#taking = taken.catch(() => {});
    return taken;
  }

  /** Makes a last one where something changed, if that takes no longer than the end of a service may. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#loop;
    this.#look();
    if (this.#behindSince !== null)
      await Promise.race([this.take().catch(() => {}), setTimeout(lastMs, undefined, { ref: false })]);
    this.#watch?.close();
    this.#watch = null;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    const { seconds } = this.#parts.settings;
    for (let last = Number.NEGATIVE_INFINITY; !signal.aborted; ) {
      this.#look();
      if (this.#behindSince !== null && performance.now() - last >= seconds * 1000) {
        last = performance.now();
        await this.take().catch(() => {});
      }
      await setTimeout(lookMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  #look(): void {
    if (this.#version() !== this.#seen) this.#behindSince ??= performance.now();
  }

  /** Another number after each commit of another connection. */
  #version(): number {
    this.#watch ??= openForReading(this.#parts.path);
    const row = this.#watch.prepare('PRAGMA data_version').get() as { data_version: number };
    return row.data_version;
  }

  async #take(keep: number): Promise<void> {
    const { path, rows, logger } = this.#parts;
    const copy = `${path}.backup`;
    const started = performance.now();
    const version = this.#version();
    try {
      const damage = notedDamage(dirname(path));
      if (damage !== null) throw new Error(`the record is damaged: ${damage}`);
      await copyRecord(path, copy);
      crashPoint('context.backup_copied');
      const { record, applied } = recordFacts(copy)!;
      const { bytes, pieces, written } = await this.#write(copy);
      crashPoint('context.backup_written');
      const { backup, at } = await rows.publish({ record, applied, bytes, pieces }, keep);
      crashPoint('context.backup_named');
      this.#known = new Map(pieces.map((piece) => [piece.digest, piece]));
      this.#at = at;
      this.#seen = version;
      this.#behindSince = this.#version() === version ? null : started;
      this.#problem = null;
      const ms = Math.round(performance.now() - started);
      logger.debug(`backup ${backup}: ${written} of ${pieces.length} pieces written`, { ms });
      await this.#deleteOld();
      crashPoint('context.backup_collected');
    } catch (error) {
      // What was noted may be let go of by a backup whose naming was not answered.
      this.#known = null;
      if (this.#problem === null) logger.warn('no backup of the context record can be made', { error });
      this.#problem = messageOf(error);
      throw error;
    } finally {
      rmSync(copy, { force: true });
    }
  }

  async #write(copy: string): Promise<Pick<Backup, 'bytes' | 'pieces'> & { readonly written: number }> {
    const { rows, store } = this.#parts;
    this.#known ??= new Map((await rows.sound()).map((piece) => [piece.digest, piece]));
    const known = this.#known;
    return FilePieces.with(copy, async (file) => {
      const digests = await file.digests();
      const missing = [...new Set(digests)].filter((digest) => !known.has(digest));
      const noted = missing.length === 0 ? [] : await rows.note(missing);
      crashPoint('context.pieces_noted');
      await forEachPiece(noted, async (piece) => {
        await store.put(objectOf(piece), await file.read(digests.indexOf(piece.digest)));
        crashPoint('context.piece_written');
        known.set(piece.digest, piece);
      });
      const pieces = digests.map((digest) => known.get(digest)!);
      return { bytes: await file.bytes(), pieces, written: noted.length };
    });
  }

  async #deleteOld(): Promise<void> {
    const { rows, store } = this.#parts;
    const going = await rows.going();
    await forEachPiece(going, (piece) => store.delete(objectOf(piece)));
    if (going.length > 0) await rows.gone(going);
  }
}
