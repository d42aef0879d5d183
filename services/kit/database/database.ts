import type { Signals } from './signals.ts';

/**
 * Runs statements one after another in one transaction. Both engines take the same text: `$1`, `$2` … stand for the values,
 * `core_clock_ms()` is the time of the database in milliseconds since 1970, and `greatest` and `least` take any number of values.
 */
export interface Sql {
  readonly engine: 'sqlite' | 'postgres';
  /** @returns all rows; whole numbers as numbers, bytes as Uint8Array */
  query<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
}

/** The tables of a service, on either engine. */
export interface Database extends Sql {
  /** For people, without a password: `postgres://core@db:5432/core`, or the path of a file. */
  readonly name: string;
  /** Reads committed rows. Writes need `write` or `transaction`. @returns as in a transaction */
  query<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Timeout of a statement in a transaction, in ms. */
  readonly statementMs: number;
  /**
   * Runs `work` completely or not at all. `work` awaits only its own statements. It may run again after a conflict with other
   * transactions (deadlock, serialization).
   * @throws Unavailable (`database_unavailable`, `disk_full` of PostgreSQL), DatabaseDiskFull, CommitUnknown if the answer to the commit
   * is lost
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * Same as `transaction` for one statement, in one round trip. The server has no timeout for it. A statement that waits for locks must
   * set `lock_timeout` below `statementMs`, or it may still run after this call has failed.
   */
  write<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Signals of other processes about their changes. */
  readonly signals: Signals;
  close(): Promise<void>;
}

/** `FOR UPDATE` and its relatives, for the engine that locks rows: SQLite has one writer at a time. */
export function rowLock({ engine }: Pick<Sql, 'engine'>, lock: string): string {
  return engine === 'postgres' ? lock : '';
}

/** `$1, $2` …: a place for each value. @param first the number of the first value */
export function places(values: readonly unknown[], first = 1): string {
  return values.map((_, index) => `$${first + index}`).join(', ');
}

/**
 * Rows of values as a table, for use after `WITH`: `given (a, b) AS (VALUES …)`. Its values are the first of the statement.
 * @param types by column, of SQL
 */
export function valuesTable(
  name: string,
  types: Readonly<Record<string, 'bigint' | 'text'>>,
  rows: readonly Readonly<Record<string, unknown>>[],
): { readonly text: string; readonly values: readonly unknown[] } {
  const columns = Object.keys(types);
  let number = 1;
  const row = () => `(${columns.map((column) => `CAST($${number++} AS ${types[column]})`).join(', ')})`;
  const values = rows.flatMap((given) => columns.map((column) => given[column]));
  const table = `${name} (${columns.join(', ')}) AS (VALUES ${rows.map(row).join(', ')})`;
  return { text: table, values };
}
