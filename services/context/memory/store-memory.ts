import type { GraphRecord } from '../record/graph-record.ts';
import { aboutOf, type MemoryRow, memoryRow, noEnd, titleOf } from './memory-row.ts';
import { derivedColumns, type Remembered } from './remembered.ts';

const excerptLength = 500;

/** Adds a memory: its node, row, text and edges. @returns its row, whose validity is the stated one */
export function storeMemory(record: GraphRecord, memory: Remembered): MemoryRow {
  const { id, layer, kind, content, about, valid_from, stated_to, steps } = memory;
  const node = record.putNode({ id, label: 'Memory', kind, title: titleOf(content), valid_from });
  const { context, words, subject_name, speaker_name, fact } = derivedColumns(memory);
  const { source, subject, predicate, confidence, session, seq, speaker, at, recorded_at } = memory;
  record
    .prepare(
      `INSERT INTO memories (memory, id, layer, kind, content, context, words, source, subject, predicate, subject_name,
         speaker_name, fact, confidence, session, seq, speaker, at, steps, recorded_at, valid_from, stated_to, valid_to)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      ...[node, id, layer, kind, content, context, words, source, subject, predicate, subject_name],
      ...[speaker_name, fact, confidence, session, seq, speaker, at, JSON.stringify(steps), recorded_at],
      ...[valid_from, stated_to, stated_to ?? noEnd],
    );
  record
    .prepare('INSERT INTO memory_index (rowid, content, context) VALUES (?, ?, ?)')
    .run(node, content, context);
  const name = record.prepare('INSERT INTO memory_about (memory, entity, linked) VALUES (?, ?, ?)');
  for (const entity of about) name.run(node, entity, record.nodeOf(entity) === null ? 0 : 1);
  project(record, node);
  return memoryRow(record.db, node);
}

/** Writes a memory's node and ABOUT edges again, as its row has them. */
export function project(record: GraphRecord, memory: number): void {
  const row = memoryRow(record.db, memory);
  const valid_to = row.valid_to === noEnd ? null : row.valid_to;
  record.putNode({
    id: row.id,
    label: 'Memory',
    kind: row.kind,
    title: titleOf(row.content),
    properties: propertiesOf(row),
    valid_from: row.valid_from,
    valid_to,
  });
  for (const entity of aboutOf(record.db, memory)) {
    const to = record.nodeOf(entity);
    if (to === null) continue;
    record.putEdge({ from: memory, to, type: 'ABOUT', valid_from: row.valid_from, valid_to });
  }
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

function propertiesOf(row: MemoryRow): Record<string, string | number> {
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
  const known = Object.entries({ ...all, ...counters }).filter((entry) => entry[1] !== null);
  return Object.fromEntries(known) as Record<string, string | number>;
}
