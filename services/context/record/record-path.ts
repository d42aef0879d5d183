import { join } from 'node:path';

/** What messages call the record, and what its error codes begin with. */
export const recordThing = {
  codePrefix: 'record',
  name: 'the context record',
  whenDamaged: 'The next start of core-context sets it aside and rebuilds it from what can be read.',
} as const;

/** @param state folder of the state */
export function recordFolder(state: string): string {
  return join(state, 'context');
}

/** The SQLite file of the record. */
export function recordPath(state: string): string {
  return join(recordFolder(state), 'record.sqlite');
}
