import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Failed, messageOf, Unavailable } from '#kit/errors.ts';
import { isSqliteDamage, sqliteCode, sqliteCodes } from '#kit/storage/sqlite-error.ts';

const patienceMs = 10_000;

/**
 * Does short, synchronous work while nobody appends to a run: the write lock of the index is the append lock of all runs. What
 * waits for it waits longer than this may take.
 * @param index path of `index.sqlite`; without one no run was ever written
 * @throws Unavailable (`lock_busy`), Failed (`backup_index_damaged`, `backup_unreadable`)
 */
export function whileNoRunChanges<T>(index: string, work: () => T): T {
  if (!existsSync(index)) return work();
  const db = openLocked(index);
  try {
    return work();
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
    db.close();
  }
}

function openLocked(index: string): DatabaseSync {
  for (;;) {
    const before = inodeOf(index);
    const db = new DatabaseSync(index, { timeout: patienceMs });
    try {
      db.exec('BEGIN IMMEDIATE');
      // A lock on a file that was replaced meanwhile would protect nothing.
      if (before !== null && inodeOf(index) === before) return db;
      db.close();
    } catch (error) {
      db.close();
      throw explained(error, index);
    }
  }
}

function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

function explained(cause: unknown, path: string): unknown {
  if (sqliteCode(cause) === sqliteCodes.busy) {
    return new Unavailable('lock_busy', `another process holds ${path}`, { cause, facts: { path } });
  }
  if (sqliteCode(cause) === sqliteCodes.readOnly || sqliteCode(cause) === sqliteCodes.cannotOpen) {
    return new Failed('backup_unreadable', `${path} cannot be locked: ${messageOf(cause)}`, {
      cause,
      facts: { path },
      hint: 'Run it as the user that Core runs as, with the state folder writable: its lock holds the runs still for a moment.',
    });
  }
  if (!isSqliteDamage(cause)) return cause;
  return new Failed('backup_index_damaged', `${path} is damaged: ${messageOf(cause)}`, {
    cause,
    facts: { path },
    hint: './core runs makes it again; then back up again.',
  });
}
