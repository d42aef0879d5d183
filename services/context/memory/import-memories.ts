import type { ImportReply, MemoryLine } from '#kit/contracts/context/memory.ts';
import { canonicalJson } from '#kit/digest.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { placeFact } from './fact-timeline.ts';
import { lineOf } from './memory-line.ts';
import { type MemoryRow, memoryById, type Remembered } from './memory-row.ts';
import { fingerprintOf } from './minhash.ts';
import { countOutcomes, putOutcome, putSighting } from './record-memory.ts';
import { rememberFingerprint } from './signatures.ts';
import { linkSimilar } from './similar.ts';
import { storeMemory } from './store-memory.ts';

export interface NumberedLine {
  /** From 1. */
  readonly line: number;
  readonly memory: MemoryLine;
}

/** Brings in what an export holds; what is there stays. Importing the same again changes nothing. */
export function importMemories(
  record: GraphRecord,
  { lines, force }: { readonly lines: readonly NumberedLine[]; readonly force: boolean },
): ImportReply {
  const counts: ImportReply = {
    lines: lines.length,
    created: 0,
    unchanged: 0,
    skipped_forgotten: 0,
    conflicts: [],
    unlinked: 0,
  };
  for (const { line, memory } of lines) importOne(record, memory, line, force, counts);
  return counts;
}

function importOne(
  record: GraphRecord,
  memory: MemoryLine,
  line: number,
  force: boolean,
  counts: ImportReply,
): void {
  const { id } = memory;
  const present = memoryById(record.db, id);
  const reason = present === null ? whatHinders(record, memory) : null;
  if (present !== null) {
    if (saysTheSame(record, present, memory)) {
      counts.unchanged++;
      mergeOutcomes(record, present, memory);
    } else counts.conflicts.push({ line, id, reason: 'another memory has this id' });
  } else if (isForgotten(record, id) && !force) {
    counts.skipped_forgotten++;
  } else if (reason !== null) {
    counts.conflicts.push({ line, id, reason });
  } else {
    record.prepare('DELETE FROM forgotten_memories WHERE id = ?').run(id);
    const unlinked = create(record, memory);
    counts.created++;
    if (unlinked) counts.unlinked++;
  }
}

/** @returns whether an entity that it is about is not known here */
function create(record: GraphRecord, line: MemoryLine): boolean {
  const { sightings, outcomes, valid_to, ...rest } = line;
  const memory: Remembered = { ...rest, about: [...new Set(line.about)].sort(), stated_to: valid_to };
  const row = storeMemory(record, memory);
  for (const sighting of sightings) putSighting(record, row.memory, sighting);
  for (const outcome of outcomes) putOutcome(record, row.memory, outcome);
  if (outcomes.length > 0) countOutcomes(record, row.memory);
  const fingerprint = fingerprintOf(memory);
  if (fingerprint !== null) {
    linkSimilar(record, row, fingerprint);
    rememberFingerprint(record, row.memory, fingerprint);
  }
  placeFact(record, row);
  return (
    record.prepare('SELECT 1 FROM memory_about WHERE memory = ? AND linked = 0').all(row.memory).length > 0
  );
}

function whatHinders(record: GraphRecord, { session, seq, sightings, id }: MemoryLine): string | null {
  if (record.nodeOf(id) !== null) return 'a node that is no memory has this id';
  if (session !== null && seq !== null) {
    const place = record.prepare('SELECT id FROM memories WHERE session = ? AND seq = ?').get(session, seq) as
      | { id: string }
      | undefined;
    if (place !== undefined) return `${place.id} has its place in the session, seq ${seq}`;
  }
  const keys = new Set<string>();
  for (const { key } of sightings) {
    if (key === null) continue;
    if (keys.has(key)) return `its key ${JSON.stringify(key)} stands there twice`;
    keys.add(key);
    const other = record
      .prepare('SELECT id FROM memory_sightings JOIN memories USING (memory) WHERE key = ?')
      .get(key) as { id: string } | undefined;
    if (other !== undefined) return `${other.id} has its key ${JSON.stringify(key)}`;
  }
  return null;
}

function isForgotten(record: GraphRecord, id: string): boolean {
  return record.prepare('SELECT 1 FROM forgotten_memories WHERE id = ?').get(id) !== undefined;
}

/** Sightings and outcomes grow; the rest of a memory does not change. */
function saysTheSame(record: GraphRecord, present: MemoryRow, memory: MemoryLine): boolean {
  const fixed = ({ sightings, outcomes, source, ...rest }: MemoryLine) => canonicalJson(rest);
  return fixed(lineOf(record.db, present)) === fixed(memory);
}

function mergeOutcomes(record: GraphRecord, present: MemoryRow, { outcomes }: MemoryLine): void {
  const known = lineOf(record.db, present).outcomes;
  const isNew = (outcome: MemoryLine['outcomes'][number]) =>
    !known.some(({ run, worked, at }) =>
      run === null
        ? outcome.run === null && at === outcome.at && worked === outcome.worked
        : run === outcome.run && at >= outcome.at,
    );
  const fresh = outcomes.filter(isNew);
  for (const outcome of fresh) putOutcome(record, present.memory, outcome);
  if (fresh.length > 0) countOutcomes(record, present.memory);
}

const maxAtOnce = 500;

/** Joins memories to entities that became known after they were recorded. @returns how many; again while it is not 0 */
export function linkMemories(record: GraphRecord, _: null): number {
  const found = record
    .prepare(
      `SELECT a.memory, a.entity, n.node, m.valid_from, nullif(m.valid_to, '9999-12-31T23:59:59.999Z') AS valid_to
       FROM memory_about a JOIN nodes n ON n.id = a.entity JOIN memories m USING (memory) WHERE a.linked = 0 LIMIT ?`,
    )
    .all(maxAtOnce) as {
    memory: number;
    entity: string;
    node: number;
    valid_from: string;
    valid_to: string | null;
  }[];
  const note = record.prepare('UPDATE memory_about SET linked = 1 WHERE memory = ? AND entity = ?');
  for (const { memory, entity, node, valid_from, valid_to } of found) {
    record.putEdge({ from: memory, to: node, type: 'ABOUT', valid_from, valid_to });
    note.run(memory, entity);
  }
  return found.length;
}
