import { join } from 'node:path';

/** @param state folder of the state */
export function recordFolder(state: string): string {
  return join(state, 'context');
}

/** The SQLite file of the record. */
export function recordPath(state: string): string {
  return join(recordFolder(state), 'record.sqlite');
}
