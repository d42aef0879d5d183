import type { GraphRecord } from '../record/graph-record.ts';
import { indexAllMemories } from './memory-index.ts';
import { aboutOf, type MemoryRow } from './memory-row.ts';
import { fingerprintOf } from './minhash.ts';
import { rememberFingerprint } from './signatures.ts';
import { linkSimilar } from './similar.ts';

/** Rebuilds the text index, and signs and links what has no signature, as after a recovery from a damaged record. */
export function rebuildMemoryIndex(record: GraphRecord, _: null): null {
  indexAllMemories(record);
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
    const fingerprint = fingerprintOf({ ...row, about: aboutOf(record.db, row.memory), steps });
    if (fingerprint === null) continue;
    linkSimilar(record, row, fingerprint);
    rememberFingerprint(record, row.memory, fingerprint);
  }
  return null;
}
