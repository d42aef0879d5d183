import { existsSync, lstatSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Failed, messageOf } from '#kit/errors.ts';
import { migrate, transaction } from '#kit/storage/database.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { isSqliteDamage, storageError } from '#kit/storage/storage-error.ts';
import { openForWriting, recordFolder, recordPath, recordThing } from './connection.ts';
import { GraphRecord } from './graph-record.ts';
import {
  finishRecovery,
  notedDamage,
  type RecordContents,
  type Recovery,
  readRecovery,
  setAside,
} from './recovery.ts';

/** The record of one installation, held by this process, checked and up to date. */
export interface OpenRecord {
  /** Of the SQLite file. */
  readonly path: string;
  /** Set while a damaged record that was set aside is still in the folder. */
  readonly recovery: Recovery | null;
  /** True if this opening rebuilt the record from what could be read of a damaged one. */
  readonly recoveredNow: boolean;
  /** After the threads have closed: notes an orderly end, and releases the folder. */
  close(): void;
}

/**
 * Opens `<state>/context/record.sqlite` for this process alone, and makes it where it is missing. After an end that was not
 * orderly its pages are checked first. A damaged record is set aside and made again from the rows that can be read.
 * @throws Conflict (`record_held`), DatabaseDiskFull, Failed (`record_newer`)
 */
export function openRecord(
  state: string,
  contents: RecordContents,
  log: (message: string) => void = () => {},
): OpenRecord {
  const folder = recordFolder(state);
  const hold = holdFolder(folder, { code: 'record_held', name: recordThing.name });
  try {
    const path = recordPath(state);
    requireFile(path);
    const damage = notedDamage(folder) ?? (hold.endedWell ? headDamage(path) : pageDamage(path));
    if (damage !== null) {
      log(`the context record is damaged (${damage}): rebuilding it from what can be read`);
      setAside(folder, damage);
    }
    const recovered = finishRecovery(folder, contents);
    bringUpToDate(path, contents);
    return { path, recovery: readRecovery(folder), recoveredNow: recovered, close: () => hold.release() };
  } catch (error) {
    hold.abandon();
    throw storageError(error, recordPath(state), recordThing);
  }
}

/** Cheap, after an orderly end: whether it is a database with our tables. null for a record that is well or not there. */
function headDamage(path: string): string | null {
  return damageFoundBy(path, (db) => {
    const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    return user_version === 0 ? ['it holds no record any more'] : [];
  });
}

function requireFile(path: string): void {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts === undefined || facts.isFile()) return;
  throw new Failed('record_not_a_file', `${path} must be the file of the context record, and is none`, {
    hint: 'Move away what is there, then start again.',
  });
}

/** Reads every page. null for a record that is well or not there. */
export function pageDamage(path: string): string | null {
  return damageFoundBy(path, (db) => {
    const rows = db.prepare('PRAGMA quick_check(1)').all() as { quick_check: string }[];
    return rows.map((row) => row.quick_check).filter((text) => text !== 'ok');
  });
}

function damageFoundBy(path: string, check: (db: DatabaseSync) => readonly string[]): string | null {
  if (!existsSync(path)) return null;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path);
    return check(db)[0] ?? null;
  } catch (error) {
    if (isSqliteDamage(error)) return messageOf(error);
    throw error;
  } finally {
    db?.close();
  }
}

/** Brings the tables up to date, and makes again what an older version made from other rows. */
function bringUpToDate(path: string, { versions, restoreSteps }: RecordContents): void {
  const db = openForWriting(path);
  try {
    migrate(db, { ...recordThing, migrations: versions });
    const { indexed } = db.prepare('SELECT max(version) AS indexed FROM indexed_version').get() as {
      indexed: number;
    };
    if (indexed === versions.length) return;
    transaction(db, () => {
      restoreSteps.rebuild(new GraphRecord(db));
      db.prepare('UPDATE indexed_version SET version = ?').run(versions.length);
    });
  } finally {
    db.close();
  }
}
