import type { GraphRecord, NodeInput } from '../record/graph-record.ts';
import { aboutOf, type MemoryRow, memoryRow, noEnd, titleOf } from './memory-row.ts';
import { derivedColumns, type Remembered } from './remembered.ts';

const excerptLength = 500;

/** Adds a memory: its node, row, text and edges. @returns its row, whose validity is the stated one */
export function storeMemory(record: GraphRecord, said: Remembered): MemoryRow {
  const { about, steps, ...memory } = said;
  const counted = {
    ...memory,
    ...derivedColumns(said),
    worked: 0,
    failed: 0,
    valid_to: said.stated_to ?? noEnd,
  };
  const columns = { ...counted, steps: JSON.stringify(steps) };
  const node = record.addNode(nodeOf(columns));
  const row: MemoryRow = { memory: node, ...columns };
  record.prepare(insertMemory).run(...columnNames.map((name) => row[name]));
  record
    .prepare('INSERT INTO memory_index (rowid, content, context) VALUES (?, ?, ?)')
    .run(node, row.content, row.context);
  const name = record.prepare('INSERT INTO memory_about (memory, entity, linked) VALUES (?, ?, ?)');
  for (const entity of about) name.run(node, entity, record.nodeOf(entity) === null ? 0 : 1);
  linkEntities(record, row, about);
  return row;
}

/** Writes a memory's node and ABOUT edges again, as its row has them. */
export function project(record: GraphRecord, memory: number): void {
  const row = memoryRow(record.db, memory);
  record.putNode(nodeOf(row));
  linkEntities(record, row, aboutOf(record.db, memory));
}

function linkEntities(record: GraphRecord, row: MemoryRow, about: readonly string[]): void {
  for (const entity of about) {
    const to = record.nodeOf(entity);
    if (to === null) continue;
    const { valid_from } = row;
    record.putEdge({ from: row.memory, to, type: 'ABOUT', valid_from, valid_to: endOf(row) });
  }
}

function nodeOf(row: Omit<MemoryRow, 'memory'>): NodeInput {
  const { id, kind, content, valid_from } = row;
  const properties = propertiesOf(row);
  return { id, label: 'Memory', kind, title: titleOf(content), properties, valid_from, valid_to: endOf(row) };
}

function endOf({ valid_to }: Pick<MemoryRow, 'valid_to'>): string | null {
  return valid_to === noEnd ? null : valid_to;
}

const columnNames = [
  'memory',
  'id',
  'layer',
  'kind',
  'words',
  'source',
  'subject',
  'predicate',
  'subject_name',
  'speaker_name',
  'fact',
  'confidence',
  'session',
  'seq',
  'speaker',
  'at',
  'recorded_at',
  'valid_from',
  'stated_to',
  'valid_to',
  'steps',
  'context',
  'content',
] as const;

const insertMemory = `INSERT INTO memories (${columnNames.join(', ')}) VALUES (${columnNames.map(() => '?').join(', ')})`;

/** Ends a memory's validity at another time, or at none. */
export function changeEnd(record: GraphRecord, memory: number, valid_to: string): void {
  record.prepare('UPDATE memories SET valid_to = ? WHERE memory = ?').run(valid_to, memory);
  project(record, memory);
}

/** Removes a memory with everything that was made from it. */
export function removeMemory(record: GraphRecord, row: MemoryRow): void {
  record
    .prepare("INSERT INTO memory_index (memory_index, rowid, content, context) VALUES ('delete', ?, ?, ?)")
    .run(row.memory, row.content, row.context);
  record.deleteNode(row.memory);
}

function propertiesOf(row: Omit<MemoryRow, 'memory'>): Record<string, string | number> {
  const { layer, source, subject, predicate, confidence, session, seq, speaker, at, recorded_at } = row;
  const counters = layer === 'procedural' ? { worked: row.worked, failed: row.failed } : {};
  const excerpt = row.content.slice(0, excerptLength).toWellFormed();
  const all = {
    layer,
    excerpt,
    source,
    subject,
    predicate,
    confidence,
    session,
    seq,
    speaker,
    at,
    recorded_at,
  };
  const known: Record<string, string | number> = {};
  for (const [name, value] of Object.entries({ ...all, ...counters }))
    if (value !== null) known[name] = value;
  return known;
}
