import type { DatabaseSync } from 'node:sqlite';
import type { GraphRecord } from './graph-record.ts';

/** What those who keep something in the record do after a damage. */
export interface RestoreSteps {
  /** Adds the rows without which others that came over would be orphans. */
  keepRows(db: DatabaseSync): void;
  /** Makes everything again that is made from other rows; in a transaction. */
  rebuild(record: GraphRecord): void;
}

export interface RecordContents {
  /** See migrate.ts. */
  readonly versions: readonly string[];
  /** Much to load, and hardly ever needed. */
  readonly restoreSteps: () => RestoreSteps;
}
