import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { openDisposableDatabase, transaction } from '#kit/storage/database.ts';
import type { RunChanges } from '../runs/run-store.ts';

/** How far core-context knows the log of a run. */
export interface DeliveryCursor {
  /** Sequence number of the last event that it knows. */
  readonly seq: number;
  /** Hash of that event, `''` before the first: a database that failed over may have another one there. */
  readonly hash: string;
  /** Bytes of the log then: a log of another length has news, without reading it. */
  readonly size: number;
  /** Why it refused the rest; null where it took all. */
  readonly refused: string | null;
}

const tables = `
  CREATE TABLE IF NOT EXISTS delivered (
    run_id TEXT NOT NULL,
    context TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    size INTEGER NOT NULL,
    refused TEXT,
    PRIMARY KEY (context, run_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS delivered_refused ON delivered (context, run_id) WHERE refused IS NOT NULL;
  CREATE TABLE IF NOT EXISTS changes (context TEXT PRIMARY KEY, position TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS waiting (
    context TEXT NOT NULL,
    run_id TEXT NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (context, run_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS away (context TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  DROP TABLE IF EXISTS told
`;

/** Of runs and sizes as JSON, those of which not everything was delivered. */
const notDelivered = `SELECT key AS run_id, value AS size FROM json_each(:sizes)
  WHERE value >= 0 AND value IS NOT (SELECT size FROM delivered WHERE context = :context AND run_id = key)`;

/**
 * `<state>/context-outbox.sqlite`: cursors alone, because the logs of runs are the queue. A cursor is written after the delivery,
 * so a crash between the two delivers once more; without the file everything is delivered once more.
 */
export class ContextOutbox {
  readonly #path: string;
  /** Another service gets everything from the beginning. */
  readonly #context: string;
  #db: DatabaseSync | null = null;

  constructor(stateDir: string, context: string) {
    this.#path = join(stateDir, 'context-outbox.sqlite');
    this.#context = context;
  }

  cursor(runId: string): DeliveryCursor | null {
    if (!this.#exists) return null;
    const row = this.#opened()
      .prepare('SELECT seq, hash, size, refused FROM delivered WHERE context = ? AND run_id = ?')
      .get(this.#context, runId);
    return row === undefined ? null : ({ ...row } as unknown as DeliveryCursor);
  }

  /** Since when changes of runs are to be asked for. */
  position(): string | null {
    if (!this.#exists) return null;
    const row = this.#opened().prepare('SELECT position FROM changes WHERE context = ?').get(this.#context);
    return (row?.position as string | undefined) ?? null;
  }

  /** Takes note of what changed since `position`. @returns the runs of which not everything is known there, oldest first */
  behind({ sizes, all, position }: RunChanges): string[] {
    if (position !== null) return this.#noted(sizes, all, position);
    if (!this.#exists) return [...sizes].flatMap(([runId, size]) => (size < 0 ? [] : [runId])).sort();
    return runIds(this.#opened().prepare(`${notDelivered} ORDER BY key`).all(this.#named(sizes)));
  }

  #noted(sizes: ReadonlyMap<string, number>, all: boolean, position: string): string[] {
    const db = this.#opened();
    if (sizes.size > 0 || all)
      transaction(db, () => {
        const named = this.#named(sizes);
        if (all) db.prepare('DELETE FROM waiting WHERE context = ?').run(this.#context);
        db.prepare(
          'DELETE FROM waiting WHERE context = :context AND run_id IN (SELECT key FROM json_each(:sizes))',
        ).run(named);
        db.prepare(`INSERT INTO waiting SELECT :context, run_id, size FROM (${notDelivered})`).run(named);
        db.prepare('INSERT OR REPLACE INTO changes VALUES (?, ?)').run(this.#context, position);
      });
    return runIds(
      db.prepare('SELECT run_id FROM waiting WHERE context = ? ORDER BY run_id').all(this.#context),
    );
  }

  #named(sizes: ReadonlyMap<string, number>): Record<string, string> {
    return { context: this.#context, sizes: JSON.stringify(Object.fromEntries(sizes)) };
  }

  /** What the service does not take. */
  refused(): { run_id: string; reason: string }[] {
    if (!this.#exists) return [];
    return this.#opened()
      .prepare(
        'SELECT run_id, refused AS reason FROM delivered WHERE context = ? AND refused IS NOT NULL ORDER BY run_id',
      )
      .all(this.#context) as unknown as { run_id: string; reason: string }[];
  }

  /** Notes that people know that the service does not answer. @returns false where they knew before */
  noteAway(): boolean {
    return (
      Number(this.#opened().prepare('INSERT OR IGNORE INTO away VALUES (?)').run(this.#context).changes) > 0
    );
  }

  /** It answers again. */
  noteBack(): void {
    if (this.#exists) this.#opened().prepare('DELETE FROM away WHERE context = ?').run(this.#context);
  }

  /** Moves a cursor on, unless another delivery moved it since `from` was read: what that one did not deliver, the next one does. */
  advance(runId: string, from: DeliveryCursor | null, to: DeliveryCursor): void {
    const db = this.#opened();
    transaction(db, () => {
      if (!isDeepStrictEqual(this.cursor(runId), from)) return;
      const { seq, hash, size, refused } = to;
      db.prepare(
        'INSERT OR REPLACE INTO delivered (run_id, context, seq, hash, size, refused) VALUES (?, ?, ?, ?, ?, ?)',
      ).run(runId, this.#context, seq, hash, size, refused);
      this.noNews(runId, size);
    });
  }

  /** A log of this size is known there; one that was noted meanwhile as longer still waits. */
  noNews(runId: string, size: number): void {
    if (!this.#exists) return;
    this.#opened()
      .prepare('DELETE FROM waiting WHERE context = ? AND run_id = ? AND size <= ?')
      .run(this.#context, runId, size);
  }

  /** Everything is to be delivered again. */
  forget(): void {
    if (!this.#exists) return;
    const db = this.#opened();
    transaction(db, () => {
      for (const table of ['delivered', 'waiting', 'changes'])
        db.prepare(`DELETE FROM ${table} WHERE context = ?`).run(this.#context);
    });
  }

  close(): void {
    this.#db?.close();
    this.#db = null;
  }

  get #exists(): boolean {
    return this.#db !== null || existsSync(this.#path);
  }

  #opened(): DatabaseSync {
    if (this.#db === null) {
      makePrivateFolder(dirname(this.#path));
      this.#db = openDisposableDatabase(this.#path, (db) =>
        db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${tables}`),
      );
    }
    return this.#db;
  }
}

function runIds(rows: readonly Record<string, unknown>[]): string[] {
  return rows.map(({ run_id }) => String(run_id));
}
