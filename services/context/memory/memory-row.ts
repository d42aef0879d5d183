import type { DatabaseSync } from 'node:sqlite';
import type { MemoryLayer } from '#kit/contracts/context/vocabulary.ts';
import { prepared } from '../record/prepared.ts';

/** Stands in `memories.valid_to` for no end. */
export const noEnd = '9999-12-31T23:59:59.999Z';

/** A row of `memories`. */
export interface MemoryRow {
  readonly memory: number;
  readonly id: string;
  readonly layer: MemoryLayer;
  readonly kind: string;
  readonly content: string;
  /** Further words under which it is found: date, speaker, subject, steps. */
  readonly context: string;
  readonly words: number;
  readonly source: string | null;
  readonly subject: string | null;
  readonly predicate: string | null;
  readonly subject_name: string | null;
  readonly speaker_name: string | null;
  readonly fact: string | null;
  readonly confidence: number | null;
  readonly session: string | null;
  readonly seq: number | null;
  readonly speaker: string | null;
  readonly at: string | null;
  /** JSON. */
  readonly steps: string;
  readonly worked: number;
  readonly failed: number;
  readonly recorded_at: string;
  readonly valid_from: string;
  readonly stated_to: string | null;
  readonly valid_to: string;
}

export function memoryRow(db: DatabaseSync, memory: number): MemoryRow {
  return prepared(db, 'SELECT * FROM memories WHERE memory = ?').get(memory) as unknown as MemoryRow;
}

export function memoryById(db: DatabaseSync, id: string): MemoryRow | null {
  const row = prepared(db, 'SELECT * FROM memories WHERE id = ?').get(id);
  return (row as unknown as MemoryRow | undefined) ?? null;
}

/** Ids of the entities that a memory is about, known here or not. */
export function aboutOf(db: DatabaseSync, memory: number): string[] {
  const rows = prepared(db, 'SELECT entity FROM memory_about WHERE memory = ? ORDER BY entity').all(memory);
  return (rows as { entity: string }[]).map(({ entity }) => entity);
}

const longestTitle = 120;

/** The first line that says something, cut. */
export function titleOf(content: string): string {
  const line = content.trim().split(/\r?\n/, 1)[0]!.trim();
  if (line.length <= longestTitle) return line;
  return `${line
    .slice(0, longestTitle - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`;
}

/** What leaves of a row towards the wire. */
export function memoryFacts(row: MemoryRow, about: readonly string[]) {
  const { id, layer, kind, source, subject, predicate, confidence, session, seq, speaker, at } = row;
  return {
    id,
    layer,
    kind,
    title: titleOf(row.content),
    about: [...about],
    source,
    subject,
    predicate,
    confidence,
    session,
    seq,
    speaker,
    at,
    steps: JSON.parse(row.steps) as string[],
    worked: row.worked,
    failed: row.failed,
    recorded_at: row.recorded_at,
    valid_from: row.valid_from,
    valid_to: row.valid_to === noEnd ? null : row.valid_to,
  };
}
