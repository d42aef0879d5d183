import type { DatabaseSync, StatementSync } from 'node:sqlite';

const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A statement of a connection, prepared once. For texts that are constant. */
export function statement(db: DatabaseSync, sql: string): StatementSync {
  const own = prepared.get(db) ?? new Map<string, StatementSync>();
  prepared.set(db, own);
  const found = own.get(sql) ?? db.prepare(sql);
  own.set(sql, found);
  return found;
}
