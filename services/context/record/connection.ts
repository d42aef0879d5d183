import { DatabaseSync } from 'node:sqlite';

/** How much of a commit survives the machine's power: `full` all of it, `normal` all but the last moments. A killed process loses nothing with either. */
export type Durability = 'full' | 'normal';

const busyMs = 10_000;
const pagesBeforeCheckpoint = 4000;

/** The one connection that writes. */
export function openForWriting(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: busyMs });
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA foreign_keys = ON');
  // What was deleted is overwritten: people have the right to be forgotten.
  db.exec('PRAGMA secure_delete = ON');
  // Pages that many commits change are moved into the file once.
  db.exec(`PRAGMA wal_autocheckpoint = ${pagesBeforeCheckpoint}`);
  db.exec(`PRAGMA journal_size_limit = ${64 * 1024 * 1024}`);
  setDurability(db, 'full');
  return db;
}

/** Reads what was committed when its transaction began, while others write. */
export function openForReading(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: busyMs, readOnly: true });
  db.exec('PRAGMA query_only = ON');
  return db;
}

/** Between transactions. */
export function setDurability(db: DatabaseSync, durability: Durability): void {
  db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`);
}
