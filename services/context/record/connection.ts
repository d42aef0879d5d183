import { join } from 'node:path';
import {
  DatabaseSync,
  type SQLInputValue,
  type StatementResultingChanges,
  type StatementSync,
} from 'node:sqlite';

/** What messages call the record, and what its error codes begin with. */
export const recordThing = {
  codePrefix: 'record',
  name: 'the context record',
  whenDamaged: 'The next start of core-context sets it aside and rebuilds it from what can be read.',
} as const;

/** @param state folder of the state */
export function recordFolder(state: string): string {
  return join(state, 'context');
}

/** The SQLite file of the record. */
export function recordPath(state: string): string {
  return join(recordFolder(state), 'record.sqlite');
}

/** How much of a commit survives the machine's power: `full` all of it, `normal` all but the last moments. A killed process loses nothing with either. */
export type Durability = 'full' | 'normal';

const busyMs = 10_000;
const pagesBeforeCheckpoint = 4000;

/**
 * A connection that writes full-text indexes. After such a write SQLite reports a row id of the index's own tables for each
 * further statement; from Node 26 `run` throws if that id is above 2 ** 53. Here `run` rounds it.
 */
export class IndexingDatabase extends DatabaseSync {
  override prepare(...args: Parameters<DatabaseSync['prepare']>): StatementSync {
    const statement = super.prepare(...args);
    const run = statement.run.bind(statement) as (...values: SQLInputValue[]) => StatementResultingChanges;
    statement.run = (...values: unknown[]) => {
      statement.setReadBigInts(true);
      try {
        const { changes, lastInsertRowid } = run(...(values as SQLInputValue[]));
        return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
      } finally {
        statement.setReadBigInts(false);
      }
    };
    return statement;
  }
}

/** The one connection that writes. */
export function openForWriting(path: string): DatabaseSync {
  const db = new IndexingDatabase(path, { timeout: busyMs });
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA foreign_keys = ON');
  // What was deleted is overwritten: people have the right to be forgotten.
  db.exec('PRAGMA secure_delete = ON');
  // Pages that many commits change are moved into the file once.
  db.exec(`PRAGMA wal_autocheckpoint = ${pagesBeforeCheckpoint}`);
  db.exec(`PRAGMA journal_size_limit = ${64 * 1024 * 1024}`);
  // Temporary tables repeat what the record holds, and are gone with the process.
  db.exec('PRAGMA temp_store = MEMORY');
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

const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A statement of a connection, prepared once. For texts that are constant. */
export function prepared(db: DatabaseSync, sql: string): StatementSync {
  const own = statements.get(db) ?? new Map<string, StatementSync>();
  statements.set(db, own);
  const found = own.get(sql) ?? db.prepare(sql);
  own.set(sql, found);
  return found;
}
