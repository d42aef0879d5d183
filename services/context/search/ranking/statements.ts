import type { DatabaseSync, StatementSync } from 'node:sqlite';

const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A statement of this connection, prepared once. */
export function prepared(db: DatabaseSync, sql: string): StatementSync {
  const own = statements.get(db) ?? new Map<string, StatementSync>();
  statements.set(db, own);
  const statement = own.get(sql) ?? db.prepare(sql);
  own.set(sql, statement);
  return statement;
}

export function rows<Row>(
  db: DatabaseSync,
  sql: string,
  ...values: readonly (string | number | null)[]
): Row[] {
  return prepared(db, sql).all(...values) as Row[];
}

/** The same, with values by name. */
export function rowsWith<Row>(
  db: DatabaseSync,
  sql: string,
  values: Readonly<Record<string, string | number | null>>,
): Row[] {
  return prepared(db, sql).all(values) as Row[];
}
