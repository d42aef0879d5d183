import type { MemoryLine, OutcomeReply, OutcomeRequest, RecordReply } from '#kit/contracts/context/memory.ts';
import { isVouchedFor } from '#kit/contracts/context/memory-source.ts';
import { Conflict, InvalidInput, NotFound, Refused } from '#kit/errors.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { findDuplicate, requirePlace } from './duplicates.ts';
import { placeFact } from './fact-timeline.ts';
import { withoutForgotten } from './forget-memory.ts';
import {
  isTurn,
  type MemoryRow,
  memoryById,
  memoryRow,
  noEnd,
  type Remembered,
  similarTo,
} from './memory-row.ts';
import { fingerprintOf } from './minhash.ts';
import { jaccard, trigrams } from './normalise.ts';
import type { PreparedRecording, Recording } from './prepare-recording.ts';
import { rememberFingerprint } from './signatures.ts';
import { linkSimilar } from './similar.ts';
import { project, storeMemory } from './store-memory.ts';

/**
 * Stores a memory, or finds that it is there. See Memory.record. A key stands for its first request, but one that somebody vouches for
 * takes it from one that nobody does, whose memory stays without it.
 */
export function recordMemory(record: GraphRecord, prepared: PreparedRecording): RecordReply {
  const { key, digest, masked, recorded_at } = prepared;
  const repeated = key === null ? null : sightingOf(record, key);
  const takesOver =
    repeated !== null && isVouchedFor(prepared.recording.source) && !isVouchedFor(repeated.source);
  if (repeated !== null && !takesOver) {
    if (repeated.digest === digest)
      return replyOf(repeated.row, {
        ...{ created: false, duplicate: repeated.first === 0, masked },
        similar: similarTo(record.db, repeated.row.memory),
      });
    throw new Conflict(
      'memory_key_taken',
      `key ${JSON.stringify(key)} is that of ${repeated.row.id}, recorded with digest ${repeated.digest}; this one has ${digest}`,
      { facts: { key, id: repeated.row.id, recorded: repeated.digest, given: digest } },
    );
  }
  const content = withoutForgotten(record, key, prepared.recording.content);
  const recording = { ...prepared.recording, content };
  if (!record.replaying) checkEntities(record, recording.about);
  const memory = rememberedFrom(recording, prepared);
  const fingerprint = fingerprintOf(memory);
  const duplicate = findDuplicate(record, memory, fingerprint, recording.at);
  if (duplicate === null) requirePlace(record, memory);
  const sighting = { source: recording.source, key, digest, seen_at: recorded_at };
  if (takesOver) record.prepare('UPDATE memory_sightings SET key = NULL WHERE key = ?').run(key);
  if (duplicate !== null) {
    noteRepetition(record, duplicate.memory, { ...sighting, first: false });
    const similar = similarTo(record.db, duplicate.memory);
    return replyOf(duplicate, { created: false, duplicate: true, masked, similar });
  }
  const seq = isTurn(memory) ? (memory.seq ?? nextSeq(record, memory)) : memory.seq;
  const row = storeMemory(record, { ...memory, seq });
  putSighting(record, row.memory, { ...sighting, first: true });
  const similar = fingerprint === null ? [] : linkSimilar(record, row, fingerprint);
  if (fingerprint !== null) rememberFingerprint(record, row.memory, fingerprint);
  const closed = placeFact(record, row);
  const placed = row.fact === null ? row : memoryRow(record.db, row.memory);
  return replyOf(placed, { created: true, duplicate: false, masked, similar }, closed);
}

function rememberedFrom(recording: Recording, { id, recorded_at }: PreparedRecording): Remembered {
  const { layer, valid_to, ...rest } = recording;
  const at = layer === 'episodic' ? (recording.at ?? recording.valid_from ?? recorded_at) : recording.at;
  const valid_from = recording.valid_from ?? (layer === 'episodic' ? at : null) ?? recorded_at;
  return { ...rest, layer, at, valid_from, id, recorded_at, stated_to: valid_to };
}

function nextSeq(record: GraphRecord, { session }: Remembered): number {
  const row = record
    .prepare('SELECT max(seq) AS last FROM memories WHERE session = ? AND seq IS NOT NULL')
    .get(session) as { last: number | null };
  return (row.last ?? 0) + 1;
}

function sightingOf(record: GraphRecord, key: string) {
  const found = record.prepare('SELECT * FROM memory_sightings WHERE key = ?').get(key) as
    | { memory: number; source: string | null; digest: string; first: number }
    | undefined;
  if (found === undefined) return null;
  const { memory, source, digest, first } = found;
  return { row: memoryRow(record.db, memory), source, digest, first };
}

type Sighting = MemoryLine['sightings'][number];

/** Who said it again is kept once for each source; a key always, for it stands for its request. */
function noteRepetition(record: GraphRecord, memory: number, sighting: Sighting): void {
  const known = record.prepare('SELECT 1 FROM memory_sightings WHERE memory = ? AND source IS ?');
  const { source, key } = sighting;
  if (key === null && known.get(memory, source) !== undefined) return;
  putSighting(record, memory, sighting);
}

export function putSighting(record: GraphRecord, memory: number, sighting: Sighting): void {
  const { source, key, digest, seen_at, first } = sighting;
  record.insert('memory_sightings', { memory, source, key, digest, seen_at, first: first ? 1 : 0 });
}

function replyOf(
  row: MemoryRow,
  {
    created,
    duplicate,
    masked,
    similar,
  }: { created: boolean; duplicate: boolean; masked: number; similar: readonly string[] },
  closed: readonly string[] = [],
): RecordReply {
  return {
    id: row.id,
    created,
    duplicate_of: duplicate ? row.id : null,
    similar_to: [...similar],
    closed: [...closed],
    valid_from: row.valid_from,
    valid_to: row.valid_to === noEnd ? null : row.valid_to,
    seq: row.seq,
    masked,
  };
}

/** @throws Refused (`entity_unknown`) naming the nearest; InvalidInput where a memory would be about a memory */
function checkEntities(record: GraphRecord, about: readonly string[]): void {
  const find = record.prepare('SELECT label FROM nodes WHERE id = ?');
  for (const [index, id] of about.entries()) {
    const found = find.get(id) as { label: string } | undefined;
    const pointer = `/about/${index}`;
    if (found === undefined) throw unknownEntity(record, id, pointer);
    if (found.label !== 'Memory') continue;
    const detail = `is ${JSON.stringify(id)}: must be the id of an entity; a memory is not about memories`;
    throw new InvalidInput('invalid_input', `the memory: ${pointer} ${detail}`, {
      errors: [{ pointer, detail }],
    });
  }
}

function unknownEntity(record: GraphRecord, id: string, pointer: string): Refused {
  const near = nearIds(record, id);
  const rule =
    near.length === 0
      ? 'there is nothing like it here; ids are those that search gives'
      : `near it ${near.length === 1 ? 'is' : 'are'} ${near.join(', ')}`;
  const detail = `no entity has the id ${JSON.stringify(id)}; ${rule}`;
  return new Refused('entity_unknown', detail, { facts: { id, near }, errors: [{ pointer, detail }] });
}

const maxNearIds = 3;
const minLikeness = 0.3;

/** Ids like one that nothing has, the most similar first: its neighbours in order, and what has its ending as a path or name. */
function nearIds(record: GraphRecord, id: string): string[] {
  const path = /^(?:[^:]*:){0,2}(.*)$/s.exec(id)![1]!;
  const candidates = record
    .prepare(
      `SELECT id FROM (SELECT id FROM nodes WHERE id < :id AND label <> 'Memory' ORDER BY id DESC LIMIT 40)
       UNION SELECT id FROM (SELECT id FROM nodes WHERE id > :id AND label <> 'Memory' ORDER BY id LIMIT 40)
       UNION SELECT id FROM (SELECT id FROM nodes WHERE kind = 'repository' ORDER BY repository LIMIT 200)
       UNION SELECT id FROM (
         SELECT n.id FROM (SELECT DISTINCT repository FROM nodes WHERE kind = 'repository' LIMIT 200) r
         JOIN nodes n ON n.repository = r.repository AND n.path = :path WHERE n.label <> 'Memory' LIMIT 40)`,
    )
    .all({ id, path }) as { id: string }[];
  const wanted = trigrams(id.toLowerCase());
  const likenessOf = (candidate: string) =>
    candidate.endsWith(`:${path}`) || candidate.endsWith(`/${path}`)
      ? 0.9
      : jaccard(wanted, trigrams(candidate.toLowerCase()));
  return candidates
    .map(({ id: candidate }) => ({ candidate, likeness: likenessOf(candidate) }))
    .filter(({ likeness }) => likeness >= minLikeness)
    .sort((a, b) => b.likeness - a.likeness || a.candidate.localeCompare(b.candidate, 'en'))
    .slice(0, maxNearIds)
    .map(({ candidate }) => candidate);
}

/** `at` is part of it, so that a journal that is replayed says the same. */
export type PreparedOutcome = OutcomeRequest & { readonly at: string };

/** Notes that a playbook worked or did not. Of one run the last word holds, whatever the clock of the host before this one said. */
export function recordMemoryOutcome(record: GraphRecord, prepared: PreparedOutcome): OutcomeReply {
  const { id, worked, run = null, at } = prepared;
  const row = memoryById(record.db, id);
  if (row === null) throw new NotFound('memory_not_found', `no memory has the id ${JSON.stringify(id)}`);
  if (row.layer !== 'procedural') {
    const rule = `${id} is of the layer ${row.layer}: only a procedural memory can work or fail`;
    throw new Refused('memory_not_procedural', rule);
  }
  const before = record
    .prepare('SELECT max(at) AS at FROM memory_outcomes WHERE memory = ? AND run = ?')
    .get(row.memory, run) as { at: string | null };
  const last = before.at !== null && before.at > at ? before.at : at;
  putOutcome(record, row.memory, { run, worked, at: last });
  countOutcomes(record, row.memory);
  const { worked: times, failed } = memoryRow(record.db, row.memory);
  return { id, worked: times, failed };
}

type Outcome = MemoryLine['outcomes'][number];

export function putOutcome(record: GraphRecord, memory: number, { run, worked, at }: Outcome): void {
  record
    .prepare(
      `INSERT INTO memory_outcomes (memory, run, worked, at) VALUES (?, ?, ?, ?)
       ON CONFLICT (memory, run) DO UPDATE SET worked = excluded.worked, at = excluded.at
       WHERE worked <> excluded.worked AND at <= excluded.at`,
    )
    .run(memory, run, worked ? 1 : 0, at);
}

/** Brings a playbook's counters to what its outcomes say. */
export function countOutcomes(record: GraphRecord, memory: number): void {
  record
    .prepare(
      `UPDATE memories SET
         worked = (SELECT count(*) FROM memory_outcomes o WHERE o.memory = memories.memory AND o.worked = 1),
         failed = (SELECT count(*) FROM memory_outcomes o WHERE o.memory = memories.memory AND o.worked = 0)
       WHERE memory = ?`,
    )
    .run(memory);
  project(record, memory);
}
