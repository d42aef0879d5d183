import type { DatabaseSync, StatementSync } from 'node:sqlite';

const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A statement of a connection, prepared once. For texts that are constant. */
export function prepared(db: DatabaseSync, sql: string): StatementSync {
  const own = statements.get(db) ?? new Map<string, StatementSync>();
  statements.set(db, own);
  const found = own.get(sql) ?? db.prepare(sql);
  own.set(sql, found);
  return found;
}
