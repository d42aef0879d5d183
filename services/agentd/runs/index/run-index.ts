import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { openDisposableDatabase } from '#kit/storage/database.ts';
import { createLeaseTable } from '#kit/storage/lease.ts';
import { isSqliteDamage, sqliteCode, sqliteCodes } from '#kit/storage/storage-error.ts';
import type { RunStatus, RunSummary } from '../run.ts';

/** A run as the index knows it. `size` is that of the event log it was folded from, -1 without one. */
export interface IndexRow extends Omit<RunSummary, 'status'> {
  readonly size: number;
  /** As folded, so never `interrupted`; `pruned` for what only a tombstone is left of. */
  readonly status: RunStatus | 'pruned';
  /** Names between line feeds, as `namesText` writes them. */
  readonly asked_by: string;
  readonly decided_by: string;
}

/** One of them is found by its line feeds. */
export function namesText(names: readonly string[]): string {
  return `\n${[...new Set(names.map((name) => name.replaceAll('\n', ' ').toLowerCase()))].join('\n')}\n`;
}

export interface Problem {
  readonly name: string;
  /** What the event log looked like that could not be read; empty for what is no run at all. */
  readonly stamp: string;
  readonly what: string;
}

export interface RowFilter {
  readonly statuses: readonly RunStatus[] | null;
  readonly forge: string | null;
  /** Only of other forges than this one. */
  readonly without_forge: string | null;
  readonly owner: string | null;
  readonly repo: string | null;
  readonly number: number | null;
  /** In lower case; each is in the title, or in `owner/repo#number` where there is a number. */
  readonly words: readonly string[];
  readonly since: string | null;
  readonly until: string | null;
  readonly risks: readonly string[] | null;
  readonly asker: string | null;
  readonly decider: string | null;
  readonly among: readonly string[] | null;
  readonly without_failed_plannings: boolean;
}

/** Raised whenever a row of the same log reads differently. */
const version = 4;
const fixed = ['run_id', 'forge', 'owner', 'repo', 'number', 'role', 'created_at'] as const;
/** Of `rowColumns`, what later events of a run change. */
export const changingColumns = [
  'size',
  'status',
  'title',
  'updated_at',
  'highest_risk',
  'waiting',
  'waits_for',
  'actions',
  'asked_by',
  'decided_by',
] as const;
/** Of the table `runs`, in every database. */
export const rowColumns = [...fixed, ...changingColumns] as const;
const updateRow = `UPDATE runs SET ${changingColumns.map((name) => `${name} = ?`).join(', ')} WHERE run_id = ?`;
const insertRow = `INSERT INTO runs (${rowColumns.join(', ')}) VALUES (${rowColumns.map(() => '?').join(', ')})`;

const schema = `
  DROP TABLE IF EXISTS runs;
  DROP TABLE IF EXISTS problems;
  DROP TABLE IF EXISTS scans;
  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, size INTEGER NOT NULL, status TEXT NOT NULL, forge TEXT NOT NULL, owner TEXT NOT NULL,
    repo TEXT NOT NULL, number INTEGER, title TEXT, role TEXT NOT NULL, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL, highest_risk TEXT, waiting INTEGER NOT NULL, waits_for TEXT, actions INTEGER NOT NULL,
    asked_by TEXT NOT NULL, decided_by TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_by_repository ON runs (owner, repo, run_id);
  CREATE TABLE problems (name TEXT PRIMARY KEY, stamp TEXT NOT NULL, what TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE scans (id INTEGER PRIMARY KEY CHECK (id = 1), folder TEXT NOT NULL) STRICT;
  PRAGMA user_version = ${version};
`;

/**
 * `<state>/index.sqlite`: makes lists fast, and its one write lock is the append lock of all runs. Everything in it
 * is rebuilt from the run folders when it is missing, broken or of another version, so it needs no durability of its own.
 */
export class RunIndex {
  readonly #path: string;
  #db: DatabaseSync;
  #inode: bigint | number;
  #statements = new Map<string, StatementSync>();

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'index.sqlite');
    this.#db = openDisposableDatabase(this.#path, setUp);
    this.#inode = statSync(this.#path).ino;
  }

  /** The open database; another one after the file was replaced. */
  get db(): DatabaseSync {
    return this.#db;
  }

  /**
   * Runs `work` while no other process writes. An index that fails afterwards is not a failure of the work: rows
   * carry the size of the log that they describe, so an old one is recognised and rebuilt.
   */
  locked<T>(work: () => T): T {
    this.#begin();
    let result: T;
    try {
      result = work();
    } catch (error) {
      // A full disk ends a transaction by itself.
      if (this.#db.isTransaction) this.#statement('ROLLBACK').run();
      throw error;
    }
    try {
      this.#statement('COMMIT').run();
    } catch {
      if (this.#db.isTransaction) this.#statement('ROLLBACK').run();
    }
    return result;
  }

  #begin(): void {
    try {
      this.#statement('BEGIN IMMEDIATE').run();
      if (!this.#reopenIfReplaced()) return;
    } catch (error) {
      if (!isSqliteDamage(error)) throw error;
      this.#reopen();
    }
    this.#statement('BEGIN IMMEDIATE').run();
  }

  /** A lock on a file that was deleted or replaced would protect nothing. */
  #reopenIfReplaced(): boolean {
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#inode) return false;
    this.#reopen();
    return true;
  }

  #reopen(): void {
    this.close();
    this.#statements = new Map();
    this.#db = openDisposableDatabase(this.#path, setUp);
    this.#inode = statSync(this.#path).ino;
  }

  /** Reads, and rebuilds the index when its file is damaged. */
  reading<T>(work: () => T): T {
    try {
      this.#reopenIfReplaced();
      return work();
    } catch (error) {
      if (!isSqliteDamage(error)) throw error;
      this.#reopen();
      return work();
    }
  }

  put(row: IndexRow): void {
    // Updated in place, only what can change: this is part of every append, and each page touched is a page written.
    const { changes } = this.#statement(updateRow).run(
      ...changingColumns.map((name) => row[name]),
      row.run_id,
    );
    if (changes > 0) return;
    this.#statement(insertRow).run(...rowColumns.map((name) => row[name]));
    this.#statement('DELETE FROM problems WHERE name = ?').run(row.run_id);
  }

  /** Inside `locked`, beside work that must not fail because of its index. */
  tryPut(row: IndexRow): void {
    try {
      this.put(row);
    } catch {
      // The log is the authority: the next reader rebuilds a row that does not match its size.
    }
  }

  /** What is called `name` in the runs folder cannot be shown as a run. */
  putProblem({ name, stamp, what }: Problem): void {
    this.#statement('DELETE FROM runs WHERE run_id = ?').run(name);
    this.#statement('INSERT OR REPLACE INTO problems VALUES (?, ?, ?)').run(name, stamp, what);
  }

  remove(name: string): void {
    this.#statement('DELETE FROM runs WHERE run_id = ?').run(name);
    this.#statement('DELETE FROM problems WHERE name = ?').run(name);
  }

  problems(): Problem[] {
    return this.#statement('SELECT * FROM problems ORDER BY name').all() as unknown as Problem[];
  }

  sizes(): { readonly run_id: string; readonly size: number; readonly status: string }[] {
    return this.#statement('SELECT run_id, size, status FROM runs').all() as never;
  }

  count(): number {
    const { count } = this.#statement(
      "SELECT count(*) AS count FROM runs WHERE status <> 'pruned'",
    ).get() as {
      count: number;
    };
    return count;
  }

  /** Newest first, only those older than `before`. */
  rows(filter: RowFilter, before: string | null, limit: number): IndexRow[] {
    const { conditions, values } = rowConditions(filter, before, dialect);
    const sql = `SELECT * FROM runs WHERE ${conditions.join(' AND ')} ORDER BY run_id DESC LIMIT ?`;
    return this.#statement(sql).all(...values, limit) as unknown as IndexRow[];
  }

  withPrefix(prefix: string, limit: number): string[] {
    const found = this.#statement(
      'SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id DESC LIMIT ?',
    ).all(prefix, `${prefix}~`, limit) as { run_id: string }[];
    return found.map(({ run_id }) => run_id);
  }

  /** What the runs folder looked like when it was last read completely. */
  scannedFolder(): string | null {
    const row = this.#statement('SELECT folder FROM scans').get() as { folder: string } | undefined;
    return row?.folder ?? null;
  }

  setScannedFolder(stamp: string): void {
    this.#statement('INSERT OR REPLACE INTO scans VALUES (1, ?)').run(stamp);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #statement(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** What databases write differently; `?` is the value. */
export interface RowDialect {
  /** A word, in lower case, is in the title or in `owner/repo#number`. */
  readonly holdsWord: string;
  readonly askedBy: string;
  readonly decidedBy: string;
  /** The run is in a JSON list of names. */
  readonly among: string;
}

const dialect: RowDialect = {
  holdsWord:
    "instr(folded(coalesce(title, '') || ' ' || owner || '/' || repo || coalesce('#' || number, '')), ?) > 0",
  askedBy: 'instr(asked_by, ?) > 0',
  decidedBy: 'instr(decided_by, ?) > 0',
  among: 'run_id IN (SELECT value FROM json_each(?))',
};

/** Which rows of a table `runs` a filter means, older than `before`; a condition's values stand in its order. */
export function rowConditions(
  filter: RowFilter,
  before: string | null,
  { holdsWord, askedBy, decidedBy, among }: RowDialect,
): { readonly conditions: string[]; readonly values: (string | number)[] } {
  const conditions = ["status <> 'pruned'"];
  const values: (string | number)[] = [];
  const where = (condition: string, ...given: (string | number)[]): void => {
    conditions.push(condition);
    values.push(...given);
  };
  if (before !== null) where('runs.run_id < ?', before);
  if (filter.statuses !== null) {
    where(`status IN (${filter.statuses.map(() => '?').join(', ')})`, ...filter.statuses);
  }
  if (filter.without_forge !== null) where('forge <> ?', filter.without_forge);
  for (const name of ['forge', 'owner', 'repo', 'number'] as const) {
    if (filter[name] !== null) where(`${name} = ?`, filter[name]);
  }
  for (const word of filter.words) where(holdsWord, word);
  if (filter.since !== null) where('created_at >= ?', filter.since);
  if (filter.until !== null) where('created_at < ?', filter.until);
  if (filter.risks !== null) {
    where(`highest_risk IN (${filter.risks.map(() => '?').join(', ')})`, ...filter.risks);
  }
  if (filter.asker !== null) where(askedBy, namesText([filter.asker]));
  if (filter.decider !== null) where(decidedBy, namesText([filter.decider]));
  if (filter.among !== null) where(among, JSON.stringify(filter.among));
  if (filter.without_failed_plannings) where("NOT (status IN ('failed', 'cancelled') AND actions = 0)");
  return { conditions, values };
}

function setUp(db: DatabaseSync): void {
  // SQLite's own lower() knows ASCII alone.
  db.function('folded', { deterministic: true }, (text) => String(text).toLowerCase());
  // Small pages and rare checkpoints: an append changes one row, and should write and sync little beside its log.
  db.exec('PRAGMA page_size = 1024');
  retryBusy(() => db.exec('PRAGMA journal_mode = WAL'));
  db.exec('PRAGMA wal_autocheckpoint = 4000');
  db.exec('PRAGMA synchronous = NORMAL');
  createLeaseTable(db);
  if (versionOf(db) === version) return;
  db.exec('BEGIN IMMEDIATE');
  if (versionOf(db) !== version) db.exec(schema);
  db.exec('COMMIT');
}

function versionOf(db: DatabaseSync): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}

/** Switching to WAL does not wait by itself while another process does the same. */
function retryBusy(work: () => void): void {
  for (let attempt = 1; ; attempt++) {
    try {
      work();
      return;
    } catch (error) {
      if (sqliteCode(error) !== sqliteCodes.busy || attempt === 50) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}
