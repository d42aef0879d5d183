import type { GraphRecord, NodeInput } from '../record/graph-record.ts';
import { aboutOf, type MemoryRow, memoryRow, noEnd, titleOf } from './memory-row.ts';
import { derivedColumns, type Remembered } from './remembered.ts';

const excerptLength = 500;

type MemoryColumns = Omit<MemoryRow, 'memory'>;

/** Adds a memory: its node, row, text and edges. @returns its row, whose validity is the stated one */
export function storeMemory(record: GraphRecord, said: Remembered): MemoryRow {
  const columns = columnsOf(said);
  const node = record.addNode(nodeOf(columns));
  record.prepare(insertMemory).run(node, ...columnNames.map((name) => columns[name]));
  record
    .prepare('INSERT INTO memory_index (rowid, content, context) VALUES (?, ?, ?)')
    .run(node, columns.content, columns.context);
  const row: MemoryRow = { memory: node, ...columns };
  const name = record.prepare('INSERT INTO memory_about (memory, entity, linked) VALUES (?, ?, ?)');
  for (const entity of said.about) name.run(node, entity, record.nodeOf(entity) === null ? 0 : 1);
  linkEntities(record, row, said.about);
  return row;
}

function columnsOf(said: Remembered): MemoryColumns {
  const derived = derivedColumns(said);
  return {
    id: said.id,
    layer: said.layer,
    kind: said.kind,
    words: derived.words,
    source: said.source,
    subject: said.subject,
    predicate: said.predicate,
    subject_name: derived.subject_name,
    speaker_name: derived.speaker_name,
    fact: derived.fact,
    confidence: said.confidence,
    session: said.session,
    seq: said.seq,
    speaker: said.speaker,
    at: said.at,
    worked: 0,
    failed: 0,
    recorded_at: said.recorded_at,
    valid_from: said.valid_from,
    stated_to: said.stated_to,
    valid_to: said.stated_to ?? noEnd,
    steps: JSON.stringify(said.steps),
    context: derived.context,
    content: said.content,
  };
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

function nodeOf(row: MemoryColumns): NodeInput {
  const { id, kind, content, valid_from } = row;
  const properties = propertiesOf(row);
  return { id, label: 'Memory', kind, title: titleOf(content), properties, valid_from, valid_to: endOf(row) };
}

function endOf({ valid_to }: Pick<MemoryRow, 'valid_to'>): string | null {
  return valid_to === noEnd ? null : valid_to;
}

const columnNames = [
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

const insertMemory = `INSERT INTO memories (memory, ${columnNames.join(', ')}) VALUES (?, ${columnNames.map(() => '?').join(', ')})`;

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

function propertiesOf(row: MemoryColumns): Record<string, string | number> {
  const excerpt = row.content.slice(0, excerptLength).toWellFormed();
  const known: Record<string, string | number> = { layer: row.layer, excerpt };
  for (const name of row.layer === 'procedural' ? [...propertyNames, ...counterNames] : propertyNames) {
    const value = row[name];
    if (value !== null) known[name] = value;
  }
  return known;
}

const counterNames = ['worked', 'failed'] as const;
const propertyNames = [
  'source',
  'subject',
  'predicate',
  'confidence',
  'session',
  'seq',
  'speaker',
  'at',
  'recorded_at',
] as const;
