import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { openDisposableDatabase } from '#kit/storage/database.ts';

/** How far core-context knows the log of a run. */
export interface DeliveryCursor {
  /** Sequence number of the last event that it knows. */
  readonly seq: number;
  /** Bytes of the log then: a longer log has news, without reading it. */
  readonly size: number;
  /** Why it refused the rest; null where it took all. */
  readonly refused: string | null;
}

const tables = `
  CREATE TABLE IF NOT EXISTS told (
    run_id TEXT NOT NULL,
    context TEXT NOT NULL,
    seq INTEGER NOT NULL,
    size INTEGER NOT NULL,
    refused TEXT,
    PRIMARY KEY (context, run_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS away (context TEXT PRIMARY KEY) STRICT, WITHOUT ROWID
`;

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
      .prepare('SELECT seq, size, refused FROM told WHERE context = ? AND run_id = ?')
      .get(this.#context, runId);
    return (row as DeliveryCursor | undefined) ?? null;
  }

  cursors(): ReadonlyMap<string, DeliveryCursor> {
    if (!this.#exists) return new Map();
    const rows = this.#opened()
      .prepare('SELECT run_id, seq, size, refused FROM told WHERE context = ?')
      .all(this.#context) as unknown as ({ run_id: string } & DeliveryCursor)[];
    return new Map(rows.map(({ run_id, ...cursor }) => [run_id, cursor]));
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

  /** A cursor never goes back: two deliveries at once may end in either order. */
  advance(runId: string, { seq, size, refused }: DeliveryCursor): void {
    this.#opened()
      .prepare(
        `INSERT INTO told (run_id, context, seq, size, refused) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (context, run_id) DO UPDATE SET seq = excluded.seq, size = excluded.size, refused = excluded.refused
         WHERE excluded.size >= size`,
      )
      .run(runId, this.#context, seq, size, refused);
  }

  /** Everything is to be delivered again. */
  forget(): void {
    if (this.#exists) this.#opened().prepare('DELETE FROM told WHERE context = ?').run(this.#context);
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
