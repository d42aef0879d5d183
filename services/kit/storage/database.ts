import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Failed } from '../errors.ts';
import { isSqliteDamage, type StoredThing } from './storage-error.ts';

export interface DatabaseKind extends StoredThing {
  /** Entry n brings the tables from version n to n + 1; entries are only ever added. */
  readonly migrations: readonly string[];
}

/**
 * Opens a database whose content can be rebuilt: a damaged file is deleted and begun again.
 * @param prepare sets its pragmas and makes its tables
 */
export function openDisposableDatabase(path: string, prepare: (db: DatabaseSync) => void): DatabaseSync {
  const open = () => {
    const db = new DatabaseSync(path, { timeout: 10_000 });
    try {
      prepare(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  };
  try {
    return open();
  } catch (error) {
    if (!isSqliteDamage(error)) throw error;
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    return open();
  }
}

/**
 * Each migration is a transaction of its own.
 * @param wanted the version to stop at; less than all only to make an old file for tests
 * @throws Failed (`…_newer`)
 */
export function migrate(
  db: DatabaseSync,
  { codePrefix, name, migrations }: Omit<DatabaseKind, 'whenDamaged'>,
  wanted = migrations.length,
): void {
  const { user_version: present } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (present > migrations.length) {
    throw new Failed(
      `${codePrefix}_newer`,
      `${name} is of version ${present}: this Core knows versions up to ${migrations.length}`,
      { hint: 'Start the newer Core that wrote it, or choose another folder with --home DIR.' },
    );
  }
  for (let version = present; version < wanted; version++) {
    db.exec(`BEGIN IMMEDIATE; ${migrations[version]!}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}

/** Runs `work` in a write transaction: all of it or nothing. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk ends a transaction by itself.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
