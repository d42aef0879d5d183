import type { DatabaseSync } from 'node:sqlite';
import type { GraphRecord } from '../record/graph-record.ts';
import { BandIndex } from './band-index.ts';
import { aboutOf, type MemoryRow } from './memory-row.ts';
import { bandCount, bandsOf, signatureOfTrigrams } from './minhash.ts';
import { comparedText, distinguishingMarks, normalised } from './normalise.ts';
import { factOf, isTurn, type Remembered } from './remembered.ts';

export type SignedText = Pick<
  Remembered,
  'layer' | 'session' | 'kind' | 'subject' | 'predicate' | 'about' | 'content' | 'steps'
>;

const indexes = new WeakMap<DatabaseSync, BandIndex>();

/** Memories that share a band with a text, the newest first, at most so many. */
export function bandMates(record: GraphRecord, text: SignedText, most: number): number[] {
  const index = indexOf(record);
  const found = new Set<number>();
  for (const band of bandsOfText(text)) index.collect(band, most, found);
  return [...found].sort((a, b) => b - a).slice(0, most);
}

/** Makes a memory findable for its later duplicates. Facts and turns are found otherwise. */
export function rememberSignature(record: GraphRecord, memory: number, text: SignedText): void {
  if (isTurn(text) || factOf(text) !== null) return;
  const bands = bandsOfText(text);
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
    rememberSignature(record, row.memory, { ...row, about: aboutOf(record.db, row.memory), steps });
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

const lastBands = new WeakMap<SignedText, readonly number[]>();

/** Asked for twice of a memory that is new: when its duplicates are looked for, and when it is kept. */
function bandsOfText(signed: SignedText): readonly number[] {
  const known = lastBands.get(signed);
  if (known !== undefined) return known;
  const { layer, about, content, steps } = signed;
  const text = comparedText(content, steps);
  const scope = [layer, ...about, '', distinguishingMarks(text)].join('\n');
  const bands = bandsOf(signatureOfTrigrams(normalised(text)), scope);
  lastBands.set(signed, bands);
  return bands;
}
