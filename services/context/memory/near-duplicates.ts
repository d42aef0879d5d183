import { isVouchedFor } from '#kit/contracts/context/memory-source.ts';
import { Conflict } from '#kit/errors.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { factsHolding } from './fact-timeline.ts';
import { aboutOf, factOf, isTurn, type MemoryRow, noEnd, type Remembered } from './memory-row.ts';
import { comparedText, distinguishingMarks, jaccard, normalised, trigrams } from './normalise.ts';
import { bandMates } from './signatures.ts';

/** From this Jaccard index of their 3-grams on, two texts say the same. */
const alike = 0.9;
/** Of the memories that share a band the newest; more would be the same text many times over. */
const maxMates = 200;

interface Duplicate {
  readonly row: MemoryRow;
  /** The same words, but for case, punctuation and spaces. */
  readonly exact: boolean;
}

/**
 * The memory that says the same already. Facts are compared with the facts that hold, and word for word; turns with what has their
 * place in the session, or with its last turn; all others within their layer and the entities that they are about. What somebody
 * vouches for is not joined to what nobody does, but for turns.
 * @param bands of its text, as minhash.ts has them
 * @param statedAt when it happened, where the caller said so: the same at another time is another event
 */
export function findDuplicate(
  record: GraphRecord,
  memory: Remembered,
  bands: readonly number[] | null,
  statedAt: string | null,
): Duplicate | null {
  if (isTurn(memory)) return sameTurn(record, memory, statedAt);
  const fact = factOf(memory);
  const candidates =
    fact === null ? mates(record, bands ?? []) : factsHolding(record, fact, memory.about, memory.valid_from);
  const about = memory.about.join('\n');
  for (const row of candidates) {
    if (row.layer !== memory.layer || !meets(row, memory)) continue;
    if (isVouchedFor(memory.source) && !isVouchedFor(row.source)) continue;
    if (statedAt !== null && row.at !== statedAt) continue;
    const likeness = likenessOf(row, memory);
    if (likeness === null || (fact !== null && likeness !== 'exact')) continue;
    if (aboutOf(record.db, row.memory).join('\n') === about) return { row, exact: likeness === 'exact' };
  }
  return null;
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
  return likeness === null ? null : { row, exact: likeness === 'exact' };
}

/** Of a turn or a summary without a duplicate. @throws Conflict (`memory_place_taken`) where another memory has its place in the session */
export function requirePlace(record: GraphRecord, { session, seq }: Remembered): void {
  if (session === null || seq === null) return;
  const other = record.prepare('SELECT id FROM memories WHERE session = ? AND seq = ?').get(session, seq) as
    | { id: string }
    | undefined;
  if (other === undefined) return;
  throw new Conflict(
    'memory_place_taken',
    `session ${JSON.stringify(session)} has another memory at seq ${seq}: ${other.id}; leave seq out for the next place`,
    { facts: { session, seq, id: other.id } },
  );
}

/** True if the two hold at a common time, and the new one does not say another end. */
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

function mates(record: GraphRecord, bands: readonly number[]): MemoryRow[] {
  const newest = bandMates(record, bands, maxMates);
  if (newest.length === 0) return [];
  return record
    .prepare('SELECT * FROM memories WHERE memory IN (SELECT value FROM json_each(?))')
    .all(JSON.stringify(newest)) as unknown as MemoryRow[];
}
