import type { GraphRecord } from '../record/graph-record.ts';
import { aboutOf, type MemoryRow } from './memory-row.ts';
import { bandCount, bandsOfMemory } from './minhash.ts';

const bandColumns = Array.from({ length: bandCount }, (_, n) => `band${n + 1}`);

/** Memories that have one of the bands, the newest first, at most so many. */
export function bandMates(record: GraphRecord, bands: readonly number[], max: number): number[] {
  openBandIndex(record);
  const read = record.prepare(
    'SELECT memory FROM temp.memory_bands WHERE band = ? ORDER BY memory DESC LIMIT ?',
  );
  const found = new Set(bands.flatMap((band) => read.all(band, max).map(({ memory }) => memory as number)));
  return [...found].sort((a, b) => b - a).slice(0, max);
}

/** Makes a memory findable for its later duplicates. */
export function rememberSignature(record: GraphRecord, memory: number, bands: readonly number[]): void {
  openBandIndex(record);
  const named = Object.fromEntries(bands.map((band, n) => [bandColumns[n]!, band]));
  record.insert('memory_signatures', { memory, ...named });
  const add = record.prepare('INSERT OR IGNORE INTO temp.memory_bands VALUES (?, ?)');
  for (const band of bands) add.run(band, memory);
}

/** Before a memory goes: those that are gone would keep others from being found, until the record is opened again. */
export function forgetSignature(record: GraphRecord, memory: number): void {
  if (!hasBandIndex(record)) return;
  const bands = record
    .prepare(`SELECT ${bandColumns.join(', ')} FROM memory_signatures WHERE memory = ?`)
    .get(memory);
  const remove = record.prepare('DELETE FROM temp.memory_bands WHERE band = ? AND memory = ?');
  for (const band of Object.values(bands ?? {})) remove.run(band, memory);
}

function hasBandIndex(record: GraphRecord): boolean {
  const find = record.prepare("SELECT 1 FROM temp.sqlite_schema WHERE name = 'memory_bands'");
  return find.get() !== undefined;
}

/** Which memories have a band, in this connection's memory: on disk it would cost six pages for each memory. */
function openBandIndex(record: GraphRecord): void {
  if (hasBandIndex(record)) return;
  const all = bandColumns.map((column) => `SELECT ${column} AS band, memory FROM memory_signatures`);
  record.db.exec(`
    CREATE TEMP TABLE memory_bands (band INTEGER, memory INTEGER, PRIMARY KEY (band, memory)) WITHOUT ROWID;
    INSERT OR IGNORE INTO temp.memory_bands ${all.join(' UNION ALL ')} ORDER BY band;
  `);
}

/** Rebuilds the text index, and signs what has no signature, as after a recovery from a damaged record. */
export function rebuildMemoryIndex(record: GraphRecord, _: null): null {
  record.db.exec("INSERT INTO memory_index (memory_index) VALUES ('rebuild')");
  record.db.exec("INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1)");
  const unsigned = record.db
    .prepare(
      `SELECT m.* FROM memories m LEFT JOIN memory_signatures s ON s.memory = m.memory
       WHERE s.memory IS NULL AND m.fact IS NULL
         AND NOT (m.layer = 'episodic' AND m.session IS NOT NULL AND m.kind <> 'summary')
       ORDER BY m.memory`,
    )
    .all() as unknown as MemoryRow[];
  for (const row of unsigned) {
    const steps = JSON.parse(row.steps) as string[];
    const bands = bandsOfMemory({ ...row, about: aboutOf(record.db, row.memory), steps });
    if (bands !== null) rememberSignature(record, row.memory, bands);
  }
  return null;
}
