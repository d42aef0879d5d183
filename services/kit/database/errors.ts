import { sqlState, sqlStates } from './postgres-error.ts';

/** Extended result codes of SQLite for a value that is there already: SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE. */
const uniqueCodes = [1555, 2067];

/** Whether a row with the same unique value is there already. */
export function isUniqueViolation(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return sqlState(error) === sqlStates.uniqueViolation || uniqueCodes.includes(Number(code));
}
