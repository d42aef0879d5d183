import { closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout, setImmediate as turn } from 'node:timers/promises';
import { guarded } from '../callbacks.ts';
import { makePrivateFolder } from '../durable-file.ts';
import { codeOf, Failed, Unavailable } from '../errors.ts';
import { type StoredThing, sqliteCode, sqliteCodes, storageError } from '../storage/storage-error.ts';
import type { Database, Sql } from './database.ts';
import { postgresText } from './postgres-text.ts';
import type { ColumnTypes, Schema } from './schema.ts';
import type { Signals } from './signals.ts';
import { LogSync } from './sqlite-log-sync.ts';

export interface SqliteOptions {
  /** Milliseconds since 1970; default the clock. */
  readonly now?: () => number;
}

interface Waiting {
  readonly work: (sql: Sql) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One connection writes, and one reads what is committed. */
interface Connections {
  readonly writer: Connection;
  readonly reader: Connection;
  /** Inode of the file that was opened. */
  readonly inode: number;
}

const types: ColumnTypes = {
  text: 'TEXT',
  integer: 'INTEGER',
  bytes: 'BLOB',
  identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  strict: ' STRICT',
};

/** In the header of each file (sqlite.org/fileformat2.html): "Core". */
const applicationId = 0x436f7265;
/** Maximum number of transactions in a commit, so that the first does not wait long. */
const maxTransactions = 200;
const statementMs = 10_000;
/** Milliseconds between two looks for what other processes changed. */
const pollMs = 400;
/** Types of file systems (statfs(2)) without the locks and the shared memory that SQLite needs. */
const networkFileSystems: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB',
  16914839: '9p',
};

/** Opens lazily: the first statement opens the file, creates it if it is missing, and brings its tables up to date. */
export function openSqlite(path: string, schema: Schema, { now = Date.now }: SqliteOptions = {}): Database {
  let open: Connections | null = null;
  let empty: Connection | null = null;
  let waiting: Waiting[] = [];
  let writing: Promise<void> | null = null;
  let closed = false;
  const logSync = schema.powerCutMs === undefined ? null : new LogSync(path, schema.powerCutMs);
  const signals = localSignals(() => (open === null ? 0 : open.reader.dataVersion()));

  return { engine: 'sqlite', name: path, statementMs, query, transaction, write, signals, close };

  async function query<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    try {
      if (open === null && !existsSync(path)) return withoutRows().rows<R>(text, values);
      return readRows<R>(text, values);
    } catch (error) {
      throw storageError(error, path, schema);
    }
  }

  function write<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return transaction((sql) => sql.query<R>(text, values));
  }

  function transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      writing ??= writeAll();
    });
  }

  /** Transactions that wait at the same time share one commit, each as a savepoint. */
  async function writeAll(): Promise<void> {
    // One commit takes all writes of a turn of the event loop.
    await turn();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxTransactions);
      waiting = waiting.slice(maxTransactions);
      try {
        for (const settle of await commit(batch)) settle();
      } catch (error) {
        const explained = storageError(error, path, schema);
        for (const { reject } of batch) reject(explained);
      }
    }
    writing = null;
  }

  async function commit(batch: readonly Waiting[]): Promise<readonly (() => void)[]> {
    const { writer, inode } = opened();
    requireSameFile(inode);
    await begin(writer);
    try {
      const settled = batch.length === 1 ? [await alone(batch[0]!, writer)] : await together(batch, writer);
      writer.rows('COMMIT');
      logSync?.committed();
      return settled;
    } catch (error) {
      if (writer.isTransaction) writer.run('ROLLBACK');
      throw error;
    }
  }

  /** Runs the work of one transaction. If it fails, the caller rolls back. */
  async function alone({ work, resolve }: Waiting, writer: Connection): Promise<() => void> {
    const value = await work(writer);
    return () => resolve(value);
  }

  async function together(batch: readonly Waiting[], writer: Connection): Promise<readonly (() => void)[]> {
    const settled: (() => void)[] = [];
    for (const one of batch) {
      writer.rows('SAVEPOINT one');
      try {
        settled.push(await alone(one, writer));
        writer.rows('RELEASE one');
      } catch (error) {
        // SQLite rolls back the whole transaction if the disk is full.
        if (!writer.isTransaction) throw error;
        writer.run('ROLLBACK TO one; RELEASE one');
        const explained = storageError(error, path, schema);
        settled.push(() => one.reject(explained));
      }
    }
    return settled;
  }

  /** Waits for the writer of another process without blocking the event loop. */
  async function begin(writer: Connection): Promise<void> {
    const end = performance.now() + statementMs;
    for (let pauseMs = 2; ; pauseMs = Math.min(50, 2 * pauseMs)) {
      try {
        writer.rows('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (sqliteCode(error) !== sqliteCodes.busy) throw error;
        if (performance.now() > end) throw busy(path, schema);
        await setTimeout(pauseMs);
      }
    }
  }

  /** Stands in for a file that does not exist: a read finds no rows and must not create the file. */
  function withoutRows(): Connection {
    if (empty !== null) return empty;
    empty = new Connection(':memory:', now);
    for (const migration of schema.migrations) empty.run(migration(types));
    empty.run('PRAGMA query_only = ON');
    return empty;
  }

  /** Reads rows. On a full disk SQLite cannot create its shared memory, so a separate connection locks the file for this statement. */
  function readRows<R extends object>(text: string, values: readonly unknown[]): R[] {
    try {
      const { reader, inode } = opened();
      requireSameFile(inode);
      return reader.rows<R>(text, values);
    } catch (error) {
      if (codeOf(error) !== 'disk_full') throw error;
    }
    const alone = new Connection(path, now);
    try {
      alone.run('PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON; PRAGMA busy_timeout = 5000');
      return alone.rows<R>(text, values);
    } finally {
      alone.close();
    }
  }

  function opened(): Connections {
    if (closed) throw new TypeError(`${path} was closed`);
    open ??= connect(path, schema, now);
    return open;
  }

  /** @throws Failed (`…_replaced`), because a write to the old file would be lost, and its rows are no longer those of the service */
  function requireSameFile(inode: number): void {
    if (statSync(path, { throwIfNoEntry: false })?.ino === inode) return;
    throw new Failed(
      `${schema.codePrefix}_replaced`,
      `${schema.name} in ${path} was deleted or replaced while Core uses it`,
      { facts: { path }, hint: 'Put the file back, or start the service again to go on with what is there.' },
    );
  }

  async function close(): Promise<void> {
    await signals.close();
    await writing;
    await logSync?.close();
    closed = true;
    const [memory, file] = [empty, open];
    [empty, open] = [null, null];
    memory?.close();
    file?.reader.close();
    file?.writer.close();
  }
}

function connect(path: string, schema: Schema, now: () => number): Connections {
  try {
    makePrivateFolder(dirname(path));
    requireLocalDisk(path, schema);
    // SQLite gives the log and the shared memory beside a file the mode of the file. Closing a file that a connection of this process
    // has open would drop the connection's locks, so only a missing file is made.
    if (!existsSync(path)) closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR, 0o600));
    const writer = new Connection(path, now);
    try {
      prepare(writer, path, schema);
      const reader = new Connection(path, now);
      reader.run('PRAGMA query_only = ON; PRAGMA busy_timeout = 5000');
      return { writer, reader, inode: statSync(path).ino };
    } catch (error) {
      writer.close();
      throw error;
    }
  } catch (error) {
    if (sqliteCode(error) === sqliteCodes.busy) throw busy(path, schema);
    throw storageError(error, path, schema);
  }
}

function prepare(writer: Connection, path: string, schema: Schema): void {
  const { codePrefix, name, migrations, powerCutMs } = schema;
  const synchronous = powerCutMs === undefined ? 'FULL' : 'NORMAL';
  writer.run(`PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
  const [id, present, tables] = [
    'PRAGMA application_id',
    'PRAGMA user_version',
    'SELECT count(*) FROM sqlite_schema',
  ].map((text) => Number(Object.values(writer.rows(text)[0]!)[0])) as [number, number, number];
  if (id !== applicationId && (id !== 0 || tables > 0))
    throw new Failed(`${codePrefix}_foreign`, `${path} is a database of another program, not ${name}`, {
      facts: { path },
      hint: 'Move it away, or choose another folder with --home DIR.',
    });
  if (present > migrations.length)
    throw new Failed(
      `${codePrefix}_newer`,
      `${name} is of version ${present}: this Core knows versions up to ${migrations.length}`,
      { hint: 'Start the newer Core that wrote it, or choose another folder with --home DIR.' },
    );
  if (present < migrations.length) migrate(writer, schema);
  writer.run('PRAGMA busy_timeout = 0');
}

/** Two processes may come at the same time: the second finds the tables of the first. */
function migrate(writer: Connection, { migrations }: Schema): void {
  writer.run('BEGIN IMMEDIATE');
  try {
    const present = Number(writer.rows<{ user_version: number }>('PRAGMA user_version')[0]!.user_version);
    for (const migration of migrations.slice(present)) writer.run(migration(types));
    writer.run(
      `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`,
    );
  } catch (error) {
    if (writer.isTransaction) writer.run('ROLLBACK');
    throw error;
  }
}

/** @throws Failed (`…_on_network`) */
function requireLocalDisk(path: string, { codePrefix, name }: Schema): void {
  const kind = networkFileSystems[statfsSync(existsSync(path) ? path : dirname(path)).type];
  if (kind === undefined) return;
  throw new Failed(
    `${codePrefix}_on_network`,
    `${name} in ${path} is on a network file system (${kind}), which would damage it: its locks do not hold between hosts`,
    {
      facts: { path },
      hint: 'Choose a folder on a local disk with --home DIR, or PostgreSQL for several hosts (storage.kind in core.json).',
    },
  );
}

function busy(path: string, { name }: StoredThing): Unavailable {
  return new Unavailable(
    'database_unavailable',
    `another process has been writing ${name} in ${path} for more than ${statementMs / 1000} s`,
    { facts: { database: path }, retryAfter: 5, hint: 'Wait for it to finish, or end that process.' },
  );
}

class Connection implements Sql {
  readonly engine = 'sqlite';
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string, now: () => number) {
    this.#db = new DatabaseSync(path);
    this.#db.function('core_clock_ms', now);
    for (const [name, choose] of [
      ['greatest', Math.max],
      ['least', Math.min],
    ] as const)
      this.#db.function(name, { varargs: true, deterministic: true }, (...values) => {
        const given = values.filter((value) => value !== null).map(Number);
        return given.length === 0 ? null : choose(...given);
      });
  }

  get isTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Rises when another connection commits. */
  dataVersion(): number {
    return this.rows<{ data_version: number }>('PRAGMA data_version')[0]!.data_version;
  }

  async query<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.rows<R>(text, values);
  }

  rows<R extends object>(text: string, values: readonly unknown[] = []): R[] {
    const given = Object.fromEntries(values.map((value, index) => [`$${index + 1}`, bound(value)]));
    return this.#prepared(text)
      .all(given)
      .map((row) => ({ ...row })) as R[];
  }

  /** Runs statements without values or result rows. Compiles them each time. */
  run(text: string): void {
    this.#db.exec(text);
  }

  close(): void {
    this.#db.close();
  }

  #prepared(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    if (this.#statements.size >= 500) this.#statements.clear();
    const statement = this.#db.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

/** The same values on both engines: text without what PostgreSQL cannot keep, no booleans. */
function bound(value: unknown): SQLInputValue {
  if (typeof value === 'string') return postgresText(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return (value ?? null) as SQLInputValue;
}

/** Signals within this process immediately. Finds commits of other processes by the data version of SQLite. */
function localSignals(dataVersion: () => number): Signals {
  const watchers = new Set<{ readonly name: string | null; readonly look: () => void }>();
  let seen = -1;
  let timer: NodeJS.Timeout | undefined;

  function poll(): void {
    const version = dataVersion();
    if (version === seen) return;
    seen = version;
    for (const { look } of [...watchers]) look();
  }

  return {
    notify(name) {
      for (const watcher of [...watchers])
        if (watcher.name === null || watcher.name === name)
          setImmediate(guarded('a change of a database', watcher.look));
    },
    watch(name, look) {
      const watcher = { name, look };
      watchers.add(watcher);
      timer ??= setInterval(guarded('the changes of a database', poll), pollMs).unref();
      return () => {
        watchers.delete(watcher);
        if (watchers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    get arrive() {
      return watchers.size > 0;
    },
    get watched() {
      return watchers.size > 0;
    },
    async close() {
      watchers.clear();
      clearInterval(timer);
      timer = undefined;
    },
  };
}
