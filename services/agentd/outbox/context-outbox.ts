import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { openDisposableDatabase } from '#kit/storage/database.ts';

/** How far the log of a run was told to core-context. */
export interface Told {
  /** Sequence number of the last event that it knows. */
  readonly seq: number;
  /** Bytes of the log then, which tell a longer one without reading it. */
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
  ) STRICT, WITHOUT ROWID
`;

/**
 * `<state>/context-outbox.sqlite`: markers alone, because the logs hold what there is to tell. A marker is written after the
 * telling, so that a crash between the two tells once more; a file that is lost or broken tells everything once more.
 */
export class ContextOutbox {
  readonly #path: string;
  /** Another service is told from the beginning. */
  readonly #context: string;
  #db: DatabaseSync | null = null;

  constructor(stateDir: string, context: string) {
    this.#path = join(stateDir, 'context-outbox.sqlite');
    this.#context = context;
  }

  told(runId: string): Told | null {
    if (this.#db === null && !existsSync(this.#path)) return null;
    const row = this.#opened()
      .prepare('SELECT seq, size, refused FROM told WHERE context = ? AND run_id = ?')
      .get(this.#context, runId);
    return (row as Told | undefined) ?? null;
  }

  all(): ReadonlyMap<string, Told> {
    if (this.#db === null && !existsSync(this.#path)) return new Map();
    const rows = this.#opened()
      .prepare('SELECT run_id, seq, size, refused FROM told WHERE context = ?')
      .all(this.#context) as unknown as ({ run_id: string } & Told)[];
    return new Map(rows.map(({ run_id, ...told }) => [run_id, told]));
  }

  /** A marker never goes back: two that tell at once may end in either order. */
  mark(runId: string, { seq, size, refused }: Told): void {
    this.#opened()
      .prepare(
        `INSERT INTO told (run_id, context, seq, size, refused) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (context, run_id) DO UPDATE SET seq = excluded.seq, size = excluded.size, refused = excluded.refused
         WHERE excluded.size >= size`,
      )
      .run(runId, this.#context, seq, size, refused);
  }

  /** Everything is to be told again. */
  forget(): void {
    if (this.#db === null && !existsSync(this.#path)) return;
    this.#opened().prepare('DELETE FROM told WHERE context = ?').run(this.#context);
  }

  close(): void {
    this.#db?.close();
    this.#db = null;
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
