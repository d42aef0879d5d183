import type { GraphRecord, NodeInput } from '../record/graph-record.ts';
import { nodeId } from '../record/node-id.ts';
import { countTerms, indexMemory, termsOfMemory, unindexMemory } from './memory-index.ts';
import { aboutOf, factOf, type MemoryRow, memoryRow, noEnd, type Remembered, titleOf } from './memory-row.ts';
import { normalisedName } from './normalise.ts';
import { forgetFingerprint } from './signatures.ts';

const excerptLength = 500;

type MemoryColumns = Omit<MemoryRow, 'memory'>;

/** Adds a memory: its node, row, text and edges. @returns its row, whose validity is the stated one */
export function storeMemory(record: GraphRecord, said: Remembered): MemoryRow {
  const context = contextWords(said);
  const terms = termsOfMemory({ content: said.content, context });
  const columns = columnsOf(said, context, countTerms(terms));
  const memory = record.addNode(nodeOf(columns));
  record.insert('memories', { memory, ...columns });
  indexMemory(record, memory, terms);
  const row: MemoryRow = { memory, ...columns };
  for (const entity of said.about)
    record.insert('memory_about', { memory, entity, linked: record.nodeOf(entity) === null ? 0 : 1 });
  linkEntities(record, row, said.about);
  linkProcedure(record, row);
  return row;
}

function columnsOf({ about, ...said }: Remembered, context: string, words: number): MemoryColumns {
  return {
    ...said,
    steps: JSON.stringify(said.steps),
    context,
    words,
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
  linkProcedure(record, row);
}

function linkEntities(record: GraphRecord, row: MemoryRow, about: readonly string[]): void {
  for (const entity of about) {
    const to = record.nodeOf(entity);
    if (to === null) continue;
    const { valid_from } = row;
    record.putEdge({ from: row.memory, to, type: 'ABOUT', valid_from, valid_to: endOf(row) });
  }
}

/** A playbook is about the procedure of its name, which is there as long as playbooks of that name are. */
function linkProcedure(record: GraphRecord, row: MemoryRow): void {
  if (row.layer !== 'procedural') return;
  const title = procedureName(row);
  const { valid_from } = row;
  const node = {
    id: nodeId.procedure(title),
    label: 'CoreEntity',
    kind: 'procedure',
    title,
    valid_from,
  } as const;
  const to = record.putNode(node);
  record.putEdge({ from: row.memory, to, type: 'ABOUT', valid_from, valid_to: endOf(row) });
  const { valid_to } = playbooksOf(record, to);
  record.putNode({ ...node, valid_to });
}

function procedureName({ subject, content }: Pick<MemoryRow, 'subject' | 'content'>): string {
  return subject ?? titleOf(content);
}

/** How many playbooks a procedure has, and when the last of them ended; null where one has not. */
function playbooksOf(record: GraphRecord, procedure: number): { count: number; valid_to: string | null } {
  return record
    .prepare(
      `SELECT count(*) AS count, nullif(max(m.valid_to), ?) AS valid_to FROM edges e
       JOIN memories m ON m.memory = e.from_node AND m.layer = 'procedural' WHERE e.to_node = ? AND e.type = 'ABOUT'`,
    )
    .get(noEnd, procedure) as { count: number; valid_to: string | null };
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
  unindexMemory(record, row);
  forgetFingerprint(record, row.memory);
  record.deleteNode(row.memory);
  const procedure = row.layer === 'procedural' ? record.nodeOf(nodeId.procedure(procedureName(row))) : null;
  if (procedure === null) return;
  const { count, valid_to } = playbooksOf(record, procedure);
  if (count === 0) record.deleteNode(procedure);
  else if (valid_to !== null) record.closeNode(procedure, valid_to);
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
