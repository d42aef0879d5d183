import { isVouchedFor } from '#kit/contracts/context/memory-source.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { type MemoryRow, noEnd } from './memory-row.ts';
import { changeEnd } from './store-memory.ts';

/**
 * Facts on the same subject and predicate follow each other in time: each holds from its `valid_from` to the end that was
 * stated for it or the next one's beginning, whichever is earlier, in whatever order they were recorded. Of two that begin together the
 * one recorded later holds. Facts about different entities alone do not touch each other; one about nothing touches all. A fact that
 * nobody vouches for ends none that somebody vouches for: both hold then.
 */

/** Gives a new fact its end, and ends those that it follows. @returns ids of the latter */
export function placeFact(record: GraphRecord, row: MemoryRow): string[] {
  if (row.fact === null) return [];
  const end = endOf(record, row);
  if (end !== row.valid_to) changeEnd(record, row.memory, end);
  const before = predecessors(record, row, row.valid_from).filter((other) => other.valid_to > row.valid_from);
  for (const { memory } of before) changeEnd(record, memory, row.valid_from);
  return before.map(({ id }) => id);
}

/** Gives a fact whose source changed the place of its new source among the others. */
export function placeAgain(record: GraphRecord, row: MemoryRow, about: readonly string[]): void {
  closeGap(record, row, about);
  placeFact(record, row);
}

/** Gives those that a removed fact had ended the end that they have without it. */
export function closeGap(record: GraphRecord, gone: MemoryRow, about: readonly string[]): void {
  if (gone.fact === null) return;
  const ended = record
    .prepare('SELECT * FROM memories WHERE fact = ? AND valid_to = ?')
    .all(gone.fact, gone.valid_from) as unknown as MemoryRow[];
  for (const row of ended) {
    if (!touch(about, entitiesOf(record, row.memory))) continue;
    const end = endOf(record, row);
    if (end !== row.valid_to) changeEnd(record, row.memory, end);
  }
}

/** When the validity of a fact ends, by what is stated and by the facts that follow it. */
function endOf(record: GraphRecord, row: MemoryRow): string {
  const stated = row.stated_to ?? noEnd;
  const own = entitiesOf(record, row.memory);
  const later = record
    .prepare(
      `SELECT memory, source, valid_from FROM memories WHERE fact = ? AND valid_from >= ? AND memory <> ?
         AND (valid_from > ? OR (recorded_at, id) > (?, ?)) ORDER BY valid_from`,
    )
    .iterate(row.fact, row.valid_from, row.memory, row.valid_from, row.recorded_at, row.id) as Iterable<{
    memory: number;
    source: string | null;
    valid_from: string;
  }>;
  for (const { memory, source, valid_from } of later) {
    if (valid_from >= stated) break;
    if (mayEnd({ source }, row) && touch(own, entitiesOf(record, memory))) return valid_from;
  }
  return stated;
}

function predecessors(record: GraphRecord, row: MemoryRow, at: string): MemoryRow[] {
  const rows = record
    .prepare(
      `SELECT * FROM memories WHERE fact = ? AND valid_to > ? AND valid_from <= ? AND memory <> ?
         AND (valid_from < ? OR (recorded_at, id) < (?, ?))`,
    )
    .all(row.fact, at, at, row.memory, at, row.recorded_at, row.id) as unknown as MemoryRow[];
  const own = entitiesOf(record, row.memory);
  return rows.filter((other) => mayEnd(row, other) && touch(own, entitiesOf(record, other.memory)));
}

/** The facts that hold at a time, about these entities. */
export function factsHolding(
  record: GraphRecord,
  fact: string,
  about: readonly string[],
  at: string,
): MemoryRow[] {
  const rows = record
    .prepare('SELECT * FROM memories WHERE fact = ? AND valid_to > ? AND valid_from <= ?')
    .all(fact, at, at) as unknown as MemoryRow[];
  return rows.filter(({ memory }) => touch(about, entitiesOf(record, memory)));
}

type Sourced = Pick<MemoryRow, 'source'>;

function mayEnd(later: Sourced, earlier: Sourced): boolean {
  return isVouchedFor(later.source) || !isVouchedFor(earlier.source);
}

function touch(a: readonly string[], b: readonly string[]): boolean {
  return a.length === 0 || b.length === 0 || a.some((entity) => b.includes(entity));
}

function entitiesOf(record: GraphRecord, memory: number): string[] {
  const rows = record.prepare('SELECT entity FROM memory_about WHERE memory = ?').all(memory);
  return (rows as { entity: string }[]).map(({ entity }) => entity);
}
