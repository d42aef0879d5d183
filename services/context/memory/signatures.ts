import type { DatabaseSync } from 'node:sqlite';
import type { GraphRecord } from '../record/graph-record.ts';
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

export function rebuildMemoryIndex(record: GraphRecord, _: null): null {
  record.db.exec("INSERT INTO memory_index (memory_index) VALUES ('rebuild')");
  record.db.exec("INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1)");
  completeSignatures(record);
  return null;
}

/**
 * Which memories have a band, the newest first, in memory alone: 20 bytes for each band of each. Chains in typed arrays, so that a
 * million entries are no objects. It may name a memory that is gone or never came to be: who asks looks at its text.
 */
export class BandIndex {
  #size = 0;
  #bands = new Float64Array(first);
  #memories = new Uint32Array(first);
  /** The entry before it in its chain, plus 1; 0 at the end. */
  #before = new Uint32Array(first);
  /** The newest entry of each chain, plus 1. */
  #heads = new Uint32Array(first);

  /** Memories come in ascending order. */
  add(band: number, memory: number): void {
    if (this.#size === this.#bands.length) this.#grow();
    const entry = this.#size++;
    this.#bands[entry] = band;
    this.#memories[entry] = memory;
    this.#chain(entry);
  }

  /** Adds to `found` the newest memories of a band, at most so many. */
  collect(band: number, most: number, found: Set<number>): void {
    let left = most;
    for (let entry = this.#heads[this.#place(band)]!; entry !== 0 && left > 0; ) {
      if (this.#bands[entry - 1] === band) {
        found.add(this.#memories[entry - 1]!);
        left--;
      }
      entry = this.#before[entry - 1]!;
    }
  }

  #chain(entry: number): void {
    const place = this.#place(this.#bands[entry]!);
    this.#before[entry] = this.#heads[place]!;
    this.#heads[place] = entry + 1;
  }

  /** Bands are hashes: their lowest bits are as good as any. */
  #place(band: number): number {
    return band % this.#heads.length;
  }

  #grow(): void {
    const length = this.#bands.length * 2;
    this.#bands = copied(new Float64Array(length), this.#bands);
    this.#memories = copied(new Uint32Array(length), this.#memories);
    this.#before = new Uint32Array(length);
    this.#heads = new Uint32Array(length);
    for (let entry = 0; entry < this.#size; entry++) this.#chain(entry);
  }
}

const first = 1_024;

function copied<A extends Float64Array | Uint32Array>(target: A, source: A): A {
  target.set(source);
  return target;
}
