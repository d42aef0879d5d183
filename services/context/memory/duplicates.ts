import { isVouchedFor } from '#kit/contracts/context/memory-source.ts';
import { Conflict } from '#kit/errors.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { factsHolding } from './fact-timeline.ts';
import { aboutOf, factOf, isTurn, type MemoryRow, noEnd, type Remembered } from './memory-row.ts';
import type { Fingerprint } from './minhash.ts';
import { folded } from './normalise.ts';
import { sharing } from './signatures.ts';

/** Maximum number of memories with the same text that are compared, newest first. */
const maxMates = 200;

/**
 * The memory that says the same already: its folded text and steps are equal. A fact is compared with the facts that hold; a turn with
 * the one in its place, or with the last turn of its session; all others within their layer, session, subject and the entities that
 * they are about. A vouched memory is not joined to one that nobody vouches for, except for turns.
 * @param fingerprint null for facts and turns
 * @param statedAt when it happened, if the caller said so: the same at another time is another event
 */
export function findDuplicate(
  record: GraphRecord,
  memory: Remembered,
  fingerprint: Fingerprint | null,
  statedAt: string | null,
): MemoryRow | null {
  if (isTurn(memory)) return sameTurn(record, memory, statedAt);
  const fact = factOf(memory);
  const candidates =
    fact !== null
      ? factsHolding(record, fact, memory.about, memory.valid_from)
      : fingerprint === null
        ? []
        : sharing(record, [fingerprint.text], maxMates);
  const about = memory.about.join('\n');
  for (const row of candidates) {
    if (row.layer !== memory.layer || row.session !== memory.session) continue;
    if (fact === null && row.subject !== memory.subject) continue;
    if (!meets(row, memory) || !saysTheSame(row, memory)) continue;
    if (isVouchedFor(memory.source) && !isVouchedFor(row.source)) continue;
    if (statedAt !== null && row.at !== statedAt) continue;
    if (aboutOf(record.db, row.memory).join('\n') === about) return row;
  }
  return null;
}

function sameTurn(record: GraphRecord, memory: Remembered, statedAt: string | null): MemoryRow | null {
  const { session, seq } = memory;
  const row = (seq === null
    ? record
        .prepare('SELECT * FROM memories WHERE session = ? AND seq IS NOT NULL ORDER BY seq DESC LIMIT 1')
        .get(session)
    : record.prepare('SELECT * FROM memories WHERE session = ? AND seq = ?').get(session, seq)) as unknown as
    | MemoryRow
    | undefined;
  if (row === undefined || row.speaker !== memory.speaker || !saysTheSame(row, memory)) return null;
  return seq === null && statedAt !== null && row.at !== statedAt ? null : row;
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

function saysTheSame(row: MemoryRow, memory: Remembered): boolean {
  const steps = JSON.parse(row.steps) as string[];
  return folded(row.content, steps) === folded(memory.content, memory.steps);
}
