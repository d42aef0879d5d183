import { createRequire } from 'node:module';
import { type OpenRecord, openRecord as open } from '../record/open-record.ts';
import { versions } from './schema.ts';

const require = createRequire(import.meta.url);

/** Opens the record with what all domains keep in it. @param state folder of the state @throws what record/open-record.ts throws */
export function openRecord(state: string, log?: (message: string) => void): OpenRecord {
  return open(state, { versions, restoreSteps }, log);
}

function restoreSteps() {
  return (require('./restore.ts') as typeof import('./restore.ts')).restoreSteps;
}
