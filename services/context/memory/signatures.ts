import type { GraphRecord } from '../record/graph-record.ts';
import type { MemoryRow } from './memory-row.ts';
import { bandCount, type Fingerprint } from './minhash.ts';

const bandColumns = Array.from({ length: bandCount }, (_, n) => `band${n + 1}`);
const columns = ['text', ...bandColumns];

/** Memories that share one of these numbers of their fingerprints, newest first. */
export function sharing(record: GraphRecord, marks: readonly number[], max: number): MemoryRow[] {
  const newest = rowsSharing(record, marks, max);
  if (newest.length === 0) return [];
  return record
    .prepare('SELECT * FROM memories WHERE memory IN (SELECT value FROM json_each(?)) ORDER BY memory DESC')
    .all(JSON.stringify(newest)) as unknown as MemoryRow[];
}

/** Numbers of the memories, newest first. */
export function rowsSharing(record: GraphRecord, marks: readonly number[], max: number): number[] {
  openMarkIndex(record);
  const read = record.prepare(
    'SELECT memory FROM temp.memory_marks WHERE mark = ? ORDER BY memory DESC LIMIT ?',
  );
  const found = new Set(marks.flatMap((mark) => read.all(mark, max).map(({ memory }) => memory as number)));
  return [...found].sort((a, b) => b - a).slice(0, max);
}

/** Makes a memory findable for its later duplicates and for similar ones. */
export function rememberFingerprint(
  record: GraphRecord,
  memory: number,
  { text, bands }: Omit<Fingerprint, 'grams'>,
): void {
  openMarkIndex(record);
  const named = Object.fromEntries([text, ...bands].map((mark, n) => [columns[n]!, mark]));
  record.insert('memory_signatures', { memory, ...named });
  const add = record.prepare('INSERT OR IGNORE INTO temp.memory_marks VALUES (?, ?)');
  for (const mark of [text, ...bands]) add.run(mark, memory);
}

/** Before a memory goes: those that are gone would keep others from being found, until the record is opened again. */
export function forgetFingerprint(record: GraphRecord, memory: number): void {
  if (!hasMarkIndex(record)) return;
  const marks = record
    .prepare(`SELECT ${columns.join(', ')} FROM memory_signatures WHERE memory = ?`)
    .get(memory);
  const remove = record.prepare('DELETE FROM temp.memory_marks WHERE mark = ? AND memory = ?');
  for (const mark of Object.values(marks ?? {})) remove.run(mark, memory);
}

function hasMarkIndex(record: GraphRecord): boolean {
  const find = record.prepare("SELECT 1 FROM temp.sqlite_schema WHERE name = 'memory_marks'");
  return find.get() !== undefined;
}

/** Which memories have a mark, in this connection's memory: on disk it would cost seven pages for each memory. */
function openMarkIndex(record: GraphRecord): void {
  if (hasMarkIndex(record)) return;
  const all = columns.map((column) => `SELECT ${column} AS mark, memory FROM memory_signatures`);
  record.db.exec(`
    CREATE TEMP TABLE memory_marks (mark INTEGER, memory INTEGER, PRIMARY KEY (mark, memory)) WITHOUT ROWID;
    INSERT OR IGNORE INTO temp.memory_marks ${all.join(' UNION ALL ')} ORDER BY mark;
  `);
}
