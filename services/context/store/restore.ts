import type { DatabaseSync } from 'node:sqlite';
import { putRunGraph } from '../execution/run-graph.ts';
import { rebuildMemoryIndex } from '../memory/rebuild-index.ts';
import { project } from '../memory/store-memory.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import type { RestoreSteps } from '../record/recovery.ts';
import { rebuildTexts } from '../search/text-index.ts';

/** How the domains complete a record that was made from the rows of a damaged one. */
export const restoreSteps: RestoreSteps = { keepRows: keepMemories, rebuild };

/** A memory whose node was lost gets a new one: its words are the only copy, the node is not. */
function keepMemories(db: DatabaseSync): void {
  db.exec(`INSERT OR IGNORE INTO nodes (node, id, label, kind, title, valid_from, changed)
    SELECT memory, id, 'Memory', kind, '', valid_from, 0 FROM memories WHERE memory NOT IN (SELECT node FROM nodes)`);
}

function rebuild(record: GraphRecord): void {
  rebuildGraph(record);
  // Their indexes keep no text; without these notes the next refresh reads histories and files again.
  record.db.exec('DELETE FROM learned_histories');
  record.db.exec(
    "UPDATE ingested_files SET source = ''; UPDATE ingested_repositories SET basis = NULL, relink = 1",
  );
  record.db.exec('DELETE FROM memory_signatures');
  rebuildMemoryIndex(record, null);
  rebuildTexts(record, { after: 0, milliseconds: Number.POSITIVE_INFINITY });
}

/** Writes nodes and edges of memories and runs once more, from the rows that hold them. */
function rebuildGraph(record: GraphRecord): void {
  const memories = record.db.prepare('SELECT memory FROM memories ORDER BY memory').all() as {
    memory: number;
  }[];
  for (const { memory } of memories) project(record, memory);
  const runs = record.db.prepare('SELECT plan, outcome FROM executions WHERE plan IS NOT NULL').all() as {
    plan: string;
    outcome: string | null;
  }[];
  for (const { plan, outcome } of runs)
    putRunGraph(record, JSON.parse(plan), outcome === null ? null : JSON.parse(outcome));
}
