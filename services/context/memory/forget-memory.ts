import type { ForgetReply } from '#kit/contracts/context/memory.ts';
import { isVouchedFor } from '#kit/contracts/context/memory-source.ts';
import { NotFound } from '#kit/errors.ts';
import { forgetRunWords, forgottenIn } from '../execution/execution-commands.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { closeGap, placeAgain } from './fact-timeline.ts';
import { aboutOf, type MemoryRow, memoryById, memoryRow } from './memory-row.ts';
import { project, removeMemory } from './store-memory.ts';

interface Forgetting {
  readonly asked_for: 'id' | 'source';
  /** The id or the source. */
  readonly name: string;
  /** Who asks. */
  readonly by: string;
  readonly reason: string | null;
}

type Forgotten = Omit<ForgetReply, 'wiped'>;

const maxIds = 1_000;

/**
 * Removes memories for good and notes which, without their content.
 * @throws NotFound (`memory_not_found`) for an id that never was; one forgotten before is no error
 */
export function forgetMemories(record: GraphRecord, forgetting: Forgetting): Forgotten {
  const at = new Date().toISOString();
  if (forgetting.asked_for === 'source') return forgetSource(record, forgetting, at);
  const row = memoryById(record.db, forgetting.name);
  if (row === null) {
    const before = record.prepare('SELECT 1 FROM forgotten_memories WHERE id = ?').get(forgetting.name);
    if (before !== undefined) return { forgotten: 0, ids: [], kept: 0 };
    throw new NotFound('memory_not_found', `no memory has the id ${JSON.stringify(forgetting.name)}`);
  }
  forgetOne(record, row, forgetting, at);
  return { forgotten: 1, ids: [row.id], kept: 0 };
}

function forgetSource(record: GraphRecord, forgetting: Forgetting, at: string): Forgotten {
  const source = forgetting.name;
  const said = record
    .prepare('SELECT DISTINCT memory FROM memory_sightings WHERE source = ? ORDER BY memory')
    .all(source) as { memory: number }[];
  const ids: string[] = [];
  let kept = 0;
  for (const { memory } of said) {
    const row = memoryRow(record.db, memory);
    if (row.source === source && !passOn(record, row)) {
      forgetOne(record, row, forgetting, at);
      ids.push(row.id);
      continue;
    }
    record.prepare('DELETE FROM memory_sightings WHERE memory = ? AND source = ?').run(memory, source);
    kept++;
  }
  return { forgotten: ids.length, ids: ids.slice(0, maxIds), kept };
}

/** Whose words they were as well, has them from now on, somebody who vouches first; false where nobody said just the same. */
function passOn(record: GraphRecord, row: MemoryRow): boolean {
  const others = record
    .prepare(
      `SELECT sighting, source FROM memory_sightings WHERE memory = ? AND source IS NOT ?
       ORDER BY sighting`,
    )
    .all(row.memory, row.source) as { sighting: number; source: string | null }[];
  const other = others.find(({ source }) => isVouchedFor(source)) ?? others[0];
  if (other === undefined) return false;
  record.prepare('UPDATE memories SET source = ? WHERE memory = ?').run(other.source, row.memory);
  record.prepare('UPDATE memory_sightings SET first = 1 WHERE sighting = ?').run(other.sighting);
  project(record, row.memory);
  if (isVouchedFor(row.source) !== isVouchedFor(other.source))
    placeAgain(record, { ...row, source: other.source }, aboutOf(record.db, row.memory));
  return true;
}

function forgetOne(
  record: GraphRecord,
  row: MemoryRow,
  { by, asked_for, reason }: Forgetting,
  at: string,
): void {
  const about = aboutOf(record.db, row.memory);
  const keys = record
    .prepare('SELECT key FROM memory_sightings WHERE memory = ? AND key IS NOT NULL')
    .all(row.memory) as { key: string }[];
  removeMemory(record, row);
  closeGap(record, row, about);
  forgetRunWords(
    record,
    keys.map(({ key }) => key),
    row.content,
  );
  record
    .prepare(
      `INSERT OR REPLACE INTO forgotten_memories (id, layer, recorded_at, forgotten_at, forgotten_by, asked_for, reason)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(row.id, row.layer, row.recorded_at, at, by, asked_for, reason);
}

/** After the log was emptied: nothing of what was forgotten up to now is left in the files. */
export function markWiped(record: GraphRecord, { until }: { readonly until: string }): number {
  const done = record
    .prepare('UPDATE forgotten_memories SET wiped = 1 WHERE wiped = 0 AND forgotten_at <= ?')
    .run(until);
  return Number(done.changes);
}

const maxPieces = 40;

/**
 * What a run's memory says without the words that people had forgotten of that run, wherever it quotes them: behind a colon, up to
 * the end of a sentence.
 * @param key of the memory; that of a run's begins with its id
 */
export function withoutForgotten(record: GraphRecord, key: string | null, content: string): string {
  const run = key === null ? null : (/^(run_[^/]+)\//.exec(key)?.[1] ?? null);
  if (run === null || !hasForgotten(record, run)) return content;
  const isForgotten = forgottenIn(record, run);
  if (isForgotten(content)) return '[forgotten]';
  let kept = content;
  for (const start of placesOf(content, ': ').toReversed()) {
    const from = start + 2;
    const end = endsAfter(kept, from).find((end) => isForgotten(kept.slice(from, end)));
    if (end !== undefined) kept = kept.slice(0, start) + kept.slice(end);
  }
  return kept;
}

function hasForgotten(record: GraphRecord, run: string): boolean {
  return (
    record
      .prepare('SELECT 1 FROM run_memories WHERE run_id = ? AND key >= ? AND key < ? LIMIT 1')
      .get(run, `${run}/forgotten/`, `${run}/forgotten0`) !== undefined
  );
}

/** Those of the longest pieces first. */
function endsAfter(text: string, from: number): number[] {
  const ends = [...placesOf(text, '; '), ...placesOf(text, '. '), ...placesOf(text, ', ')];
  const last = text.endsWith('.') ? [text.length, text.length - 1] : [text.length];
  return [...ends, ...last].filter((end) => end > from).sort((a, b) => b - a);
}

function placesOf(text: string, mark: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(mark); at >= 0 && places.length < maxPieces; at = text.indexOf(mark, at + 1))
    places.push(at);
  return places;
}
