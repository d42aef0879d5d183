import { v7 as uuidv7 } from 'uuid';
import type { RecordReply } from '#kit/contracts/context/memory.ts';
import { Conflict } from '#kit/errors.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { bandsOfText } from './bands-of-text.ts';
import { placeFact } from './fact-timeline.ts';
import { checkEntities } from './known-entities.ts';
import { type MemoryRow, memoryRow, noEnd } from './memory-row.ts';
import { findDuplicate } from './near-duplicates.ts';
import type { PreparedRecording, Recording } from './prepare-recording.ts';
import { isTurn, type Remembered } from './remembered.ts';
import { rememberSignature } from './signatures.ts';
import { storeMemory } from './store-memory.ts';
import { withoutForgotten } from './without-forgotten.ts';

/** Stores a memory, or finds that it is there. See Memory.record. */
export function recordMemory(record: GraphRecord, prepared: PreparedRecording): RecordReply {
  const { key, digest, masked } = prepared;
  const repeated = key === null ? null : sightingOf(record, key);
  if (repeated !== null) {
    if (repeated.digest === digest)
      return replyOf(repeated.row, { created: false, duplicate: repeated.first === 0, masked }, []);
    throw new Conflict(
      'memory_key_taken',
      `key ${JSON.stringify(key)} is that of ${repeated.row.id}, recorded with digest ${repeated.digest}; this one has ${digest}`,
      { facts: { key, id: repeated.row.id, recorded: repeated.digest, given: digest } },
    );
  }
  const content = withoutForgotten(record, key, prepared.recording.content);
  const isAsPrepared = content === prepared.recording.content;
  const recording = isAsPrepared ? prepared.recording : { ...prepared.recording, content };
  checkEntities(record, recording.about);
  const now = new Date().toISOString();
  const memory = rememberedFrom(recording, now);
  const bands = (isAsPrepared && prepared.bands) || bandsOfText(memory);
  const duplicate = findDuplicate(record, memory, bands, recording.at);
  if (duplicate !== null) {
    noteSighting(record, duplicate.row, {
      ...prepared,
      seen_at: now,
      first: 0,
      exact: duplicate.exact ? 1 : 0,
    });
    return replyOf(duplicate.row, { created: false, duplicate: true, masked }, []);
  }
  const row = storeMemory(
    record,
    isTurn(memory) ? { ...memory, seq: memory.seq ?? nextSeq(record, memory) } : memory,
  );
  noteSighting(record, row, { ...prepared, seen_at: now, first: 1, exact: 1 });
  if (bands !== null) rememberSignature(record, row.memory, bands);
  const closed = placeFact(record, row);
  const placed = row.fact === null ? row : memoryRow(record.db, row.memory);
  return replyOf(placed, { created: true, duplicate: false, masked }, closed);
}

function rememberedFrom(recording: Recording, now: string): Remembered {
  const { layer, valid_to, ...rest } = recording;
  const at = layer === 'episodic' ? (recording.at ?? recording.valid_from ?? now) : recording.at;
  const valid_from = recording.valid_from ?? (layer === 'episodic' ? at : null) ?? now;
  return { ...rest, layer, at, valid_from, id: `memory:${uuidv7()}`, recorded_at: now, stated_to: valid_to };
}

function nextSeq(record: GraphRecord, { session }: Remembered): number {
  const row = record
    .prepare('SELECT max(seq) AS last FROM memories WHERE session = ? AND seq IS NOT NULL')
    .get(session) as { last: number | null };
  return (row.last ?? 0) + 1;
}

function sightingOf(record: GraphRecord, key: string) {
  const found = record.prepare('SELECT * FROM memory_sightings WHERE key = ?').get(key) as
    | { memory: number; digest: string; first: number }
    | undefined;
  if (found === undefined) return null;
  return { row: memoryRow(record.db, found.memory), digest: found.digest, first: found.first };
}

interface Sighting {
  readonly recording: { readonly source: string | null };
  readonly key: string | null;
  readonly digest: string;
  readonly seen_at: string;
  readonly first: 0 | 1;
  readonly exact: 0 | 1;
}

/** Who said it again is kept once for each source; a key always, for it stands for its request. */
function noteSighting(record: GraphRecord, row: MemoryRow, sighting: Sighting): void {
  const { recording, key, digest, seen_at, first, exact } = sighting;
  const isKnown = () =>
    record
      .prepare('SELECT 1 FROM memory_sightings WHERE memory = ? AND source IS ? AND exact >= ?')
      .get(row.memory, recording.source, exact) !== undefined;
  if (first === 0 && key === null && isKnown()) return;
  record
    .prepare(
      'INSERT INTO memory_sightings (memory, source, key, digest, seen_at, first, exact) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    .run(row.memory, recording.source, key, digest, seen_at, first, exact);
}

interface Telling {
  readonly created: boolean;
  readonly duplicate: boolean;
  readonly masked: number;
}

function replyOf(
  row: MemoryRow,
  { created, duplicate, masked }: Telling,
  closed: readonly string[],
): RecordReply {
  return {
    id: row.id,
    created,
    duplicate_of: duplicate ? row.id : null,
    closed: [...closed],
    valid_from: row.valid_from,
    valid_to: row.valid_to === noEnd ? null : row.valid_to,
    seq: row.seq,
    masked,
  };
}
