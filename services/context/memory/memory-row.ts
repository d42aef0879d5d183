import type { DatabaseSync } from 'node:sqlite';
import type { MemoryLine } from '#kit/contracts/context/memory.ts';
import { prepared } from '../record/connection.ts';
import { normalisedName } from './normalise.ts';

/** Stands in `memories.valid_to` for no end. */
export const noEnd = '9999-12-31T23:59:59.999Z';

/** What a memory says, whoever brings it: a recording or an import. Times are ISO 8601 in UTC with milliseconds. */
export type Remembered = Readonly<Omit<MemoryLine, 'about' | 'valid_to' | 'sightings' | 'outcomes'>> & {
  /** Sorted, each once. */
  readonly about: readonly string[];
  readonly stated_to: string | null;
};

/** A row of `memories`. */
export type MemoryRow = Omit<Remembered, 'about' | 'steps'> & {
  readonly memory: number;
  /** Further words under which it is found: date, speaker, subject, steps. */
  readonly context: string;
  readonly words: number;
  readonly subject_name: string | null;
  readonly speaker_name: string | null;
  readonly fact: string | null;
  /** JSON. */
  readonly steps: string;
  readonly worked: number;
  readonly failed: number;
  readonly valid_to: string;
};

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

const maxSimilar = 10;

/** Ids of the memories that a memory is linked to as similar, older and newer ones, newest first. */
export function similarTo(db: DatabaseSync, memory: number): string[] {
  const rows = prepared(
    db,
    `SELECT m.id FROM (
       SELECT to_node AS memory FROM edges WHERE from_node = ?1 AND type = 'SIMILAR_TO'
       UNION SELECT from_node FROM edges WHERE to_node = ?1 AND type = 'SIMILAR_TO'
     ) JOIN memories m USING (memory) ORDER BY m.valid_from DESC, m.recorded_at DESC, m.memory DESC LIMIT ${maxSimilar}`,
  ).all(memory) as { id: string }[];
  return rows.map(({ id }) => id);
}

/** The key under which a memory was first recorded; null where none of its recordings has one. */
export function keyOf(db: DatabaseSync, memory: number): string | null {
  const row = prepared(
    db,
    'SELECT key FROM memory_sightings WHERE memory = ? AND key IS NOT NULL ORDER BY sighting LIMIT 1',
  ).get(memory);
  return (row as { key: string } | undefined)?.key ?? null;
}

const maxTitleLength = 120;

/** The first line that says something, cut. */
export function titleOf(content: string): string {
  const line = content.trim().split(/\r?\n/, 1)[0]!.trim();
  if (line.length <= maxTitleLength) return line;
  return `${line
    .slice(0, maxTitleLength - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`;
}

/** What was said and by whom, as replies and exports have it. */
export function statementOf(row: MemoryRow) {
  const { source, subject, predicate, confidence, session, seq, speaker, at } = row;
  const steps = JSON.parse(row.steps) as string[];
  return { source, subject, predicate, confidence, session, seq, speaker, at, steps };
}

/** What replies have of a memory, its content aside. */
export function memoryFacts(db: DatabaseSync, row: MemoryRow) {
  const { id, layer, kind, content, worked, failed, recorded_at, valid_from, valid_to } = row;
  return {
    ...{
      id,
      key: keyOf(db, row.memory),
      layer,
      kind,
      title: titleOf(content),
      about: aboutOf(db, row.memory),
      similar_to: similarTo(db, row.memory),
    },
    ...statementOf(row),
    ...{ worked, failed, recorded_at, valid_from, valid_to: valid_to === noEnd ? null : valid_to },
  };
}

/**
 * The name under which facts on the same subject and predicate meet; null for what is no fact. The case of a subject counts:
 * `src/Auth.ts` and `src/auth.ts` are two.
 */
export function factOf({ layer, subject, predicate }: Pick<Remembered, 'layer' | 'subject' | 'predicate'>) {
  if (layer !== 'semantic' || subject === null || predicate === null) return null;
  return `${subject.replaceAll(/\s+/gu, ' ').trim()}\n${normalisedName(predicate)}`;
}

/** True if it has a place in the order of a session. */
export function isTurn({ layer, session, kind }: Pick<Remembered, 'layer' | 'session' | 'kind'>): boolean {
  return layer === 'episodic' && session !== null && kind !== 'summary';
}
