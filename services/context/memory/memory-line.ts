import type { DatabaseSync } from 'node:sqlite';
import type { MemoryLine } from '#kit/contracts/context/memory.ts';
import { prepared } from '../record/connection.ts';
import { aboutOf, type MemoryRow, statementOf } from './memory-row.ts';

/** A memory as an export has it. */
export function lineOf(db: DatabaseSync, row: MemoryRow): MemoryLine {
  const sightings = prepared(
    db,
    `SELECT source, key, digest, seen_at, first FROM memory_sightings WHERE memory = ?
       ORDER BY seen_at, first DESC, coalesce(source, ''), coalesce(key, '')`,
  ).all(row.memory) as unknown as (Omit<MemoryLine['sightings'][number], 'first'> & {
    first: number;
  })[];
  const outcomes = prepared(
    db,
    "SELECT run, worked, at FROM memory_outcomes WHERE memory = ? ORDER BY at, coalesce(run, '')",
  ).all(row.memory) as { run: string | null; worked: number; at: string }[];
  const { id, layer, kind, content, recorded_at, valid_from, stated_to } = row;
  return {
    ...{ id, layer, kind, content, about: aboutOf(db, row.memory) },
    ...statementOf(row),
    ...{ recorded_at, valid_from, valid_to: stated_to },
    sightings: sightings.map(({ first, ...rest }) => ({ ...rest, first: first === 1 })),
    outcomes: outcomes.map(({ run, worked, at }) => ({ run, worked: worked === 1, at })),
  };
}

export interface MemoryLines {
  /** JSON, without line ends. */
  readonly lines: readonly string[];
  /** How many of the memories that were asked for have been dealt with: what was forgotten meanwhile has no line. */
  readonly taken: number;
}

const maxBytes = 4 * 1024 * 1024;

/** Rows of all memories, the oldest first. */
export function memoryOrder(db: DatabaseSync, _: null): number[] {
  const read = db.prepare('SELECT memory FROM memories ORDER BY recorded_at, memory');
  read.setReturnArrays(true);
  return (read.all() as unknown as [number][]).map(([memory]) => memory);
}

/** The first of them, as many as fit into one message. */
export function memoryLines(db: DatabaseSync, memories: readonly number[]): MemoryLines {
  const read = prepared(db, 'SELECT * FROM memories WHERE memory = ?');
  const lines: string[] = [];
  let bytes = 0;
  for (const [at, memory] of memories.entries()) {
    const row = read.get(memory) as unknown as MemoryRow | undefined;
    if (row === undefined) continue;
    const line = JSON.stringify(lineOf(db, row));
    lines.push(line);
    bytes += line.length;
    if (bytes > maxBytes) return { lines, taken: at + 1 };
  }
  return { lines, taken: memories.length };
}
