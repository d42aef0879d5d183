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
  /** Reads what is committed; what writes goes through `write` or `transaction`. @returns as in a transaction */
  query<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Milliseconds that one statement of a transaction may take. */
  readonly statementMs: number;
  /**
   * All of it or nothing. `work` awaits nothing but its own statements, and may run again where the database could not order it with
   * others (deadlock, serialization).
   * @throws Unavailable (`database_unavailable`, `disk_full` of PostgreSQL), DatabaseDiskFull; a commit whose answer did not come is a `CommitUnknown`
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * As `transaction`, of one statement: one way to the server and back. The server has no time limit for it: what waits for locks sets
   * `lock_timeout` to less than `statementMs` itself, or may be done after this has given up.
   */
  write<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** What other processes say of their changes. */
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
 * Rows of values as a table, to stand behind `WITH`: `given (a, b) AS (VALUES …)`. Its values are the first of the statement.
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
