import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

interface Copied {
  readonly rows: number;
  /** false where parts of it could not be read. */
  readonly whole: boolean;
}

/** What came over of one table. */
export type SalvagedTable = Copied & { readonly name: string };

interface Source {
  readonly db: DatabaseSync;
  readonly name: string;
  readonly columns: string;
}

/** Attempts to read a part, per table; each damaged page costs a few dozen. */
const maxProbes = 50_000;

/**
 * Copies every row that can still be read from a damaged record into a new one, whose tables exist. Text indexes are not copied:
 * they are made again from the rows.
 * @param damaged path of the file; read, and changed only where its first page is gone
 * @param keepRows adds the rows without which others that came over would be orphans
 */
export function salvage(
  damaged: string,
  target: DatabaseSync,
  keepRows: (db: DatabaseSync) => void,
): SalvagedTable[] {
  const source = openDamaged(damaged, target);
  if (source === null) return [];
  try {
    target.exec('PRAGMA foreign_keys = OFF');
    target.exec('BEGIN');
    const tables = ordinaryTables(target).map((name) => salvageTable(source, name, target));
    keepRows(target);
    removeOrphans(target);
    target.exec('COMMIT');
    return tables;
  } finally {
    target.exec('PRAGMA foreign_keys = ON');
    source.close();
  }
}

function openDamaged(path: string, target: DatabaseSync): DatabaseSync | null {
  return tryOpen(path) ?? (replaceFirstPage(path, target) ? tryOpen(path) : null);
}

const pageBytes = 4_096;
/** Offset of the size in pages; with 0 SQLite goes by the size of the file (sqlite.org/fileformat2.html). */
const sizeOffset = 28;

/**
 * Without its first page a database names no table. Records of one version lay their tables out alike: that of an empty one leads to
 * the same. SQLite has no `.recover` that Node could call.
 */
function replaceFirstPage(path: string, empty: DatabaseSync): boolean {
  empty.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const first = Buffer.alloc(pageBytes);
  if (readFirst(empty.location()!, first) < pageBytes || readFirst(path, Buffer.alloc(1)) === 0) return false;
  first.writeUInt32BE(0, sizeOffset);
  const file = openSync(path, 'r+');
  writeSync(file, first, 0, pageBytes, 0);
  closeSync(file);
  return true;
}

function readFirst(path: string, into: Buffer): number {
  const file = openSync(path, 'r');
  try {
    return readSync(file, into, 0, into.length, 0);
  } finally {
    closeSync(file);
  }
}

function tryOpen(path: string): DatabaseSync | null {
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA writable_schema = ON');
    db.prepare('SELECT name FROM sqlite_schema').all();
    return db;
  } catch {
    db.close();
    return null;
  }
}

/** Neither virtual tables nor what lies below them. */
function ordinaryTables(db: DatabaseSync): string[] {
  const rows = db
    .prepare(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all() as { name: string }[];
  return rows.map(({ name }) => name);
}

function salvageTable(db: DatabaseSync, name: string, target: DatabaseSync): SalvagedTable {
  try {
    const shared = sharedColumns(db, target, name);
    const columns = shared.map((column) => `"${column}"`).join(', ');
    const put = target.prepare(
      `INSERT OR IGNORE INTO "${name}" (${columns}) VALUES (${shared.map(() => '?').join(', ')})`,
    );
    const source = { db, name, columns };
    const copy = (row: Record<string, never>) =>
      Number(put.run(...shared.map((column) => row[column]!)).changes);
    return { name, ...(hasRowid(target, name) ? byRowid(source, copy) : byKey(source, copy)) };
  } catch {
    return { name, rows: 0, whole: false };
  }
}

type Copy = (row: Record<string, never>) => number;

/** Halves what cannot be read until the unreadable rows are alone. */
function byRowid({ db, name, columns }: Source, copy: Copy): Copied {
  const read = db.prepare(`SELECT ${columns} FROM "${name}" NOT INDEXED WHERE rowid BETWEEN ? AND ?`);
  read.setReadBigInts(true);
  const ranges: [bigint, bigint][] = [rowidRange(db, name)];
  let rows = 0;
  let whole = true;
  for (let probes = 0; ranges.length > 0 && probes < maxProbes; probes++) {
    const [low, high] = ranges.pop()!;
    const copied = copyAll(read, [low, high], copy);
    rows += copied.rows;
    if (copied.whole) continue;
    whole = false;
    if (low === high) continue;
    const middle = low + (high - low) / 2n;
    ranges.push([low, middle], [middle + 1n, high]);
  }
  return { rows, whole: whole && ranges.length === 0 };
}

/** From both ends until something cannot be read. */
function byKey({ db, name, columns }: Source, copy: Copy): Copied {
  const keys = db.prepare('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk').all(name) as {
    name: string;
  }[];
  const order = (direction: string) => keys.map((key) => `"${key.name}" ${direction}`).join(', ');
  const forward = copyAll(db.prepare(`SELECT ${columns} FROM "${name}" ORDER BY ${order('ASC')}`), [], copy);
  if (forward.whole) return forward;
  const reversed = db.prepare(`SELECT ${columns} FROM "${name}" ORDER BY ${order('DESC')}`);
  const backward = copyAll(reversed, [], copy);
  return { rows: forward.rows + backward.rows, whole: false };
}

function copyAll(read: StatementSync, bounds: readonly bigint[], copy: Copy): Copied {
  let rows = 0;
  try {
    for (const row of read.iterate(...bounds)) rows += copyOne(row as Record<string, never>, copy);
    return { rows, whole: true };
  } catch {
    return { rows, whole: false };
  }
}

/** A row whose values no longer fit its table is one that is lost. */
function copyOne(row: Record<string, never>, copy: Copy): number {
  try {
    return copy(row);
  } catch {
    return 0;
  }
}

function sharedColumns(source: DatabaseSync, target: DatabaseSync, name: string): string[] {
  const columnsOf = (db: DatabaseSync) =>
    (db.prepare('SELECT name FROM pragma_table_info(?)').all(name) as { name: string }[]).map(
      (row) => row.name,
    );
  const theirs = new Set(columnsOf(source));
  return columnsOf(target).filter((column) => theirs.has(column));
}

function hasRowid(db: DatabaseSync, name: string): boolean {
  const row = db.prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?").get(name);
  return (row as { wr: number } | undefined)?.wr === 0;
}

/** Where an end cannot be read, 0 or far enough for any record; nothing is read between. */
function rowidRange(db: DatabaseSync, name: string): [bigint, bigint] {
  const end = (which: 'min' | 'max') => edge(db, `SELECT ${which}(rowid) AS edge FROM "${name}" NOT INDEXED`);
  return [end('min') ?? 0n, end('max') ?? 2n ** 40n];
}

function edge(db: DatabaseSync, sql: string): bigint | null {
  try {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return (statement.get() as { edge: bigint | null }).edge;
  } catch {
    return null;
  }
}

/** Rows that name others which did not come over. */
function removeOrphans(db: DatabaseSync): void {
  for (;;) {
    const orphans = db.prepare('SELECT "table" AS name, rowid FROM pragma_foreign_key_check').all() as {
      name: string;
      rowid: number | null;
    }[];
    const removable = orphans.filter(({ rowid }) => rowid !== null);
    if (removable.length === 0) return;
    for (const { name, rowid } of removable) db.prepare(`DELETE FROM "${name}" WHERE rowid = ?`).run(rowid);
  }
}
