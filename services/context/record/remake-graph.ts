import type { DatabaseSync } from 'node:sqlite';
import { putRunGraph } from '../execution/run-graph.ts';
import { project } from '../memory/store-memory.ts';
import type { GraphRecord } from './graph-record.ts';

/** A memory whose node was lost gets a new one: its words are the only copy, the node is not. */
export function keepMemories(db: DatabaseSync): void {
  db.exec(`INSERT OR IGNORE INTO nodes (node, id, label, kind, title, valid_from, changed)
    SELECT memory, id, 'Memory', kind, '', valid_from, 0 FROM memories WHERE memory NOT IN (SELECT node FROM nodes)`);
}

/** Writes nodes and edges of everything that was told, once more, from the rows that hold it. */
export function remakeGraph(record: GraphRecord): void {
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
