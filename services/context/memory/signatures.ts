import type { DatabaseSync } from 'node:sqlite';
import type { GraphRecord } from '../record/graph-record.ts';
import { BandIndex } from './band-index.ts';
import { bandsOfText } from './bands-of-text.ts';
import { aboutOf, type MemoryRow } from './memory-row.ts';
import { bandCount } from './minhash.ts';

const indexes = new WeakMap<DatabaseSync, BandIndex>();

/** Memories that have one of the bands, the newest first, at most so many. */
export function bandMates(record: GraphRecord, bands: readonly number[], most: number): number[] {
  const index = indexOf(record);
  const found = new Set<number>();
  for (const band of bands) index.collect(band, most, found);
  return [...found].sort((a, b) => b - a).slice(0, most);
}

/** Makes a memory findable for its later duplicates. */
export function rememberSignature(record: GraphRecord, memory: number, bands: readonly number[]): void {
  record.prepare(insert).run(memory, ...bands);
  const index = indexes.get(record.db);
  if (index !== undefined) for (const band of bands) index.add(band, memory);
}

const places = Array.from({ length: bandCount }, () => '?').join(', ');
const insert = `INSERT INTO memory_signatures VALUES (?, ${places})`;

/** Signs what has no signature, as after a recovery from a damaged record. */
export function completeSignatures(record: GraphRecord): void {
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
    const bands = bandsOfText({ ...row, about: aboutOf(record.db, row.memory), steps });
    if (bands !== null) rememberSignature(record, row.memory, bands);
  }
  // What was signed late is older than its place in the index says.
  if (unsigned.length > 0) indexes.delete(record.db);
}

/** Read when it is asked for first; what is written later is added as it comes, whether or not its transaction lasts. */
function indexOf({ db }: GraphRecord): BandIndex {
  const known = indexes.get(db);
  if (known !== undefined) return known;
  const index = new BandIndex();
  const read = db.prepare('SELECT * FROM memory_signatures ORDER BY memory');
  read.setReturnArrays(true);
  for (const row of read.iterate() as Iterable<unknown> as Iterable<number[]>) {
    for (let place = 1; place <= bandCount; place++) index.add(row[place]!, row[0]!);
  }
  indexes.set(db, index);
  return index;
}
