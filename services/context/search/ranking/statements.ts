import type { DatabaseSync } from 'node:sqlite';
import { prepared } from '../../record/prepared.ts';

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
