import type { DatabaseSync } from 'node:sqlite';
import { scorePaths } from './score-paths.ts';

/** See store/queries.ts. */
export const executionQueries = { scorePaths, runMemories } as const;

/** Keys of the memories that were made of a run, forgotten ones too. */
function runMemories(db: DatabaseSync, runId: string): string[] {
  const rows = db.prepare('SELECT key FROM run_memories WHERE run_id = ?').all(runId);
  return rows.map(({ key }) => String(key));
}
