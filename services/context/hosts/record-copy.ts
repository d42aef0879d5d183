import { existsSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { openForReading } from '../record/connection.ts';

const pagesAtOnce = 1_000;

/** Copies the record as it is at this moment, page by page, while others write. */
export async function copyRecord(path: string, target: string): Promise<void> {
  const db = openForReading(path);
  try {
    // Without it, each write of others would start the copy again.
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    await backup(db, target, { rate: pagesAtOnce });
  } finally {
    db.close();
  }
}

/** What a record says of itself. */
export interface RecordFacts {
  readonly record: string;
  /** Identities of the records that it goes on from. */
  readonly origins: readonly string[];
  /** The last entry of the journal that is in it. */
  readonly applied: number;
  /** Whether it holds what cannot be read again. */
  readonly matters: boolean;
}

/** null where there is none, or none that can be read. */
export function recordFacts(path: string): RecordFacts | null {
  if (!existsSync(path)) return null;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path);
    const { id } = db.prepare('SELECT id FROM record_identity').get() as { id: string };
    const { matters } = db
      .prepare('SELECT EXISTS (SELECT 1 FROM memories) OR EXISTS (SELECT 1 FROM executions) AS matters')
      .get() as { matters: number };
    return { record: id, origins: originsIn(db), applied: appliedIn(db), matters: matters === 1 };
  } catch {
    return null;
  } finally {
    db?.close();
  }
}

/** 0 in a record of an earlier version, which no journal was for. */
function appliedIn(db: DatabaseSync): number {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'journal_position'").get();
  if (table === undefined) return 0;
  const { seq } = db.prepare('SELECT max(seq) AS seq FROM journal_position').get() as { seq: number };
  return seq;
}

function originsIn(db: DatabaseSync): string[] {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'record_origins'").get();
  if (table === undefined) return [];
  const rows = db.prepare('SELECT id FROM record_origins').all() as { id: string }[];
  return rows.map(({ id }) => id);
}

/** A record that goes on from an earlier state is another one: its projections are made again. It knows what it goes on from. */
export function giveNewIdentity(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA journal_mode = DELETE;
      CREATE TABLE IF NOT EXISTS record_origins (id TEXT PRIMARY KEY);
      INSERT OR IGNORE INTO record_origins SELECT id FROM record_identity;
      UPDATE record_identity SET id = lower(hex(randomblob(16)))`);
  } finally {
    db.close();
  }
}
