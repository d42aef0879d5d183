import { Conflict } from '#kit/errors.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { factsHolding } from './fact-timeline.ts';
import { aboutOf, type MemoryRow, noEnd } from './memory-row.ts';
import { bandsOf, signatureOf } from './minhash.ts';
import { distinguishingMarks, jaccard, normalised, trigrams } from './normalise.ts';
import { factOf, isTurn, type Remembered } from './remembered.ts';

/** From this Jaccard index of their 3-grams on, two texts say the same. */
const alike = 0.9;
/** Of the memories that share a band the newest; more would be the same text many times over. */
const mostMates = 200;

export interface Duplicate {
  readonly row: MemoryRow;
  /** The same words, but for case, punctuation and spaces. */
  readonly exact: boolean;
}

/**
 * The memory that says the same already. Facts are compared with the facts that they would end, and word for word; turns with what
 * has their place in the session, or with its last turn; all others within their layer and the entities that they are about.
 * @param statedAt when it happened, where the caller said so: the same at another time is another event
 * @throws Conflict (`memory_place_taken`) where another text has the turn's place
 */
export function findDuplicate(
  record: GraphRecord,
  memory: Remembered,
  statedAt: string | null,
): Duplicate | null {
  if (isTurn(memory)) return sameTurn(record, memory, statedAt);
  const fact = factOf(memory);
  const candidates =
    fact === null ? bandMates(record, memory) : factsHolding(record, fact, memory.about, memory.valid_from);
  const about = memory.about.join('\n');
  for (const row of candidates) {
    if (row.layer !== memory.layer || !meets(row, memory)) continue;
    if (statedAt !== null && row.at !== statedAt) continue;
    const likeness = likenessOf(row, memory);
    if (likeness === null || (fact !== null && likeness !== 'exact')) continue;
    if (aboutOf(record.db, row.memory).join('\n') === about) return { row, exact: likeness === 'exact' };
  }
  return null;
}

/** Makes a memory findable for its later duplicates. */
export function rememberBands(record: GraphRecord, memory: number, text: BandedText): void {
  if (!isBanded(text)) return;
  const bands = bandsOfMemory(text);
  record
    .prepare(
      `INSERT OR IGNORE INTO memory_bands (band, memory) VALUES ${bands.map(() => '(?, ?)').join(', ')}`,
    )
    .run(...bands.flatMap((band) => [band, memory]));
}

/** Forgets where its duplicates would look for it. */
export function forgetBands(record: GraphRecord, memory: number, text: BandedText): void {
  if (!isBanded(text)) return;
  const drop = record.prepare('DELETE FROM memory_bands WHERE band = ? AND memory = ?');
  for (const band of bandsOfMemory(text)) drop.run(band, memory);
}

type BandedText = Pick<
  Remembered,
  'layer' | 'session' | 'kind' | 'subject' | 'predicate' | 'about' | 'content' | 'steps'
>;

function isBanded(text: BandedText): boolean {
  return !isTurn(text) && factOf(text) === null;
}

function sameTurn(record: GraphRecord, memory: Remembered, statedAt: string | null): Duplicate | null {
  const { session, seq } = memory;
  const row = (seq === null
    ? record
        .prepare('SELECT * FROM memories WHERE session = ? AND seq IS NOT NULL ORDER BY seq DESC LIMIT 1')
        .get(session)
    : record.prepare('SELECT * FROM memories WHERE session = ? AND seq = ?').get(session, seq)) as unknown as
    | MemoryRow
    | undefined;
  if (row === undefined) return null;
  const likeness = row.speaker === memory.speaker ? likenessOf(row, memory) : null;
  if (seq === null && statedAt !== null && row.at !== statedAt) return null;
  if (likeness !== null) return { row, exact: likeness === 'exact' };
  if (seq === null) return null;
  throw new Conflict(
    'memory_place_taken',
    `session ${JSON.stringify(session)} has another memory at seq ${seq}: ${row.id}; leave seq out for the next place`,
    { facts: { session, seq, id: row.id } },
  );
}

/** Whether the two hold at a common time, and the new one does not say another end. */
function meets(row: MemoryRow, memory: Remembered): boolean {
  if (memory.stated_to !== null && memory.stated_to !== row.stated_to) return false;
  return row.valid_to > memory.valid_from && row.valid_from < (memory.stated_to ?? noEnd);
}

function likenessOf(row: MemoryRow, memory: Remembered): 'exact' | 'near' | null {
  const theirs = comparedText(row.content, JSON.parse(row.steps) as string[]);
  const ours = comparedText(memory.content, memory.steps);
  if (theirs === ours) return 'exact';
  if (distinguishingMarks(theirs) !== distinguishingMarks(ours)) return null;
  const [a, b] = [normalised(theirs), normalised(ours)];
  if (a === b) return 'exact';
  return jaccard(trigrams(a), trigrams(b)) >= alike ? 'near' : null;
}

function comparedText(content: string, steps: readonly string[]): string {
  return [content, ...steps].join('\n');
}

function bandMates(record: GraphRecord, memory: Remembered): MemoryRow[] {
  const mates = record.prepare('SELECT memory FROM memory_bands WHERE band = ? ORDER BY memory DESC LIMIT ?');
  const found = new Set<number>();
  for (const band of bandsOfMemory(memory))
    for (const row of mates.all(band, mostMates)) found.add(row.memory as number);
  if (found.size === 0) return [];
  const newest = [...found].sort((a, b) => b - a).slice(0, mostMates);
  // Bands outlive a memory whose node was removed by others.
  return record
    .prepare('SELECT * FROM memories WHERE memory IN (SELECT value FROM json_each(?))')
    .all(JSON.stringify(newest)) as unknown as MemoryRow[];
}

const lastBands = new WeakMap<BandedText, readonly number[]>();

/** Asked for twice of a memory that is new: when its duplicates are looked for, and when it is kept. */
function bandsOfMemory(banded: BandedText): readonly number[] {
  const known = lastBands.get(banded);
  if (known !== undefined) return known;
  const { layer, about, content, steps } = banded;
  const text = comparedText(content, steps);
  const scope = [layer, ...about, '', distinguishingMarks(text)].join('\n');
  const bands = bandsOf(signatureOf(trigrams(normalised(text))), scope);
  lastBands.set(banded, bands);
  return bands;
}
