import type { GraphRecord, NodeInput } from '../record/graph-record.ts';
import { aboutOf, factOf, type MemoryRow, memoryRow, noEnd, type Remembered, titleOf } from './memory-row.ts';
import { countWords, normalisedName } from './normalise.ts';

const excerptLength = 500;

type MemoryColumns = Omit<MemoryRow, 'memory'>;

/** Adds a memory: its node, row, text and edges. @returns its row, whose validity is the stated one */
export function storeMemory(record: GraphRecord, said: Remembered): MemoryRow {
  const columns = columnsOf(said);
  const memory = record.addNode(nodeOf(columns));
  record.insert('memories', { memory, ...columns });
  const { content, context } = columns;
  record.insert('memory_index', { rowid: memory, content, context });
  const row: MemoryRow = { memory, ...columns };
  for (const entity of said.about)
    record.insert('memory_about', { memory, entity, linked: record.nodeOf(entity) === null ? 0 : 1 });
  linkEntities(record, row, said.about);
  return row;
}

function columnsOf({ about, ...said }: Remembered): MemoryColumns {
  const context = contextWords(said);
  return {
    ...said,
    steps: JSON.stringify(said.steps),
    context,
    words: countWords(said.content) + countWords(context),
    subject_name: said.subject === null ? null : normalisedName(said.subject),
    speaker_name: said.speaker === null ? null : normalisedName(said.speaker),
    fact: factOf(said),
    worked: 0,
    failed: 0,
    valid_to: said.stated_to ?? noEnd,
  };
}

/** Made when it is first needed: that takes as long as half a start of the service. */
let longDate: Intl.DateTimeFormat | undefined;

function contextWords({
  at,
  speaker,
  subject,
  predicate,
  kind,
  layer,
  steps,
}: Omit<Remembered, 'about'>): string {
  longDate ??= new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' });
  const date = at === null ? null : longDate.format(new Date(at));
  const words = [date, speaker, subject, predicate, kind === layer ? null : kind, ...steps];
  return words.filter((word) => word !== null).join('\n');
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
