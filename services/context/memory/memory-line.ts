import type { DatabaseSync } from 'node:sqlite';
import type { MemoryLine } from '#kit/contracts/context/memory.ts';
import { aboutOf, type MemoryRow } from './memory-row.ts';
import { statement } from './statement.ts';

/** A memory as an export has it. */
export function lineOf(db: DatabaseSync, row: MemoryRow): MemoryLine {
  const sightings = statement(
    db,
    `SELECT source, key, digest, seen_at, first, exact FROM memory_sightings WHERE memory = ?
       ORDER BY seen_at, first DESC, coalesce(source, ''), coalesce(key, '')`,
  ).all(row.memory) as unknown as (Omit<MemoryLine['sightings'][number], 'first' | 'exact'> & {
    first: number;
    exact: number;
  })[];
  const outcomes = statement(
    db,
    "SELECT run, worked, at FROM memory_outcomes WHERE memory = ? ORDER BY at, coalesce(run, '')",
  ).all(row.memory) as { run: string | null; worked: number; at: string }[];
  const { id, layer, kind, content, source, subject, predicate, confidence, session, seq, speaker, at } = row;
  return {
    id,
    layer,
    kind,
    content,
    about: aboutOf(db, row.memory),
    source,
    subject,
    predicate,
    confidence,
    session,
    seq,
    speaker,
    at,
    steps: JSON.parse(row.steps) as string[],
    recorded_at: row.recorded_at,
    valid_from: row.valid_from,
    valid_to: row.stated_to,
    sightings: sightings.map(({ first, exact, ...rest }) => ({
      ...rest,
      first: first === 1,
      exact: exact === 1,
    })),
    outcomes: outcomes.map(({ run, worked, at }) => ({ run, worked: worked === 1, at })),
  };
}

export interface Place {
  readonly recorded_at: string;
  readonly memory: number;
}

export interface MemoryPage {
  /** JSON, without line ends. */
  readonly lines: readonly string[];
  /** Where the next page begins; null after the last. */
  readonly next: Place | null;
}

const mostBytes = 4 * 1024 * 1024;
const mostLines = 500;

/** Some of the whole memory, oldest first. */
export function memoryPage(db: DatabaseSync, { after }: { readonly after: Place | null }): MemoryPage {
  const rows = db
    .prepare(
      'SELECT * FROM memories WHERE (recorded_at, memory) > (?, ?) ORDER BY recorded_at, memory LIMIT ?',
    )
    .iterate(after?.recorded_at ?? '', after?.memory ?? 0, mostLines) as Iterable<unknown>;
  const lines: string[] = [];
  let last: Place | null = null;
  let bytes = 0;
  for (const row of rows as Iterable<MemoryRow>) {
    const line = JSON.stringify(lineOf(db, row));
    lines.push(line);
    last = { recorded_at: row.recorded_at, memory: row.memory };
    bytes += line.length;
    if (bytes > mostBytes) return { lines, next: last };
  }
  return { lines, next: lines.length === mostLines ? last : null };
}
