import type { DatabaseSync } from 'node:sqlite';
import { migrate as migrateTo } from '#kit/storage/database.ts';
import { executionTables } from '../execution/execution-queries.ts';
import { ingestTables, linkTables } from '../ingest/ingest-tables.ts';
import { memoryIndexTables } from '../memory/memory-index.ts';
import { fingerprintTables, memoryTables, signatureTables } from '../memory/memory-tables.ts';
import { recordThing } from '../record/connection.ts';
import { identityTable, indexedTable, journalTable, recordTables } from '../record/graph-record.ts';
import { searchTables } from '../search/text-index.ts';
import { vectorTables } from '../vectors/vectors.ts';

/**
 * What costs every write and serves hardly any question is not indexed: places of nodes that lie in no repository, sightings without a
 * key, and when memories were recorded, by which an export sorts them itself.
 */
const leanerIndexes = `
  DROP INDEX nodes_place;
  CREATE INDEX nodes_place ON nodes (repository, path) WHERE repository IS NOT NULL;

  DROP INDEX memories_recorded;

  CREATE TABLE sightings (
    sighting INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (memory) ON DELETE CASCADE,
    source TEXT,
    key TEXT,
    digest TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    first INTEGER NOT NULL,
    exact INTEGER NOT NULL
  ) STRICT;
  INSERT INTO sightings SELECT sighting, memory, source, key, digest, seen_at, first, exact FROM memory_sightings;
  DROP TABLE memory_sightings;
  ALTER TABLE sightings RENAME TO memory_sightings;
  CREATE UNIQUE INDEX memory_sightings_key ON memory_sightings (key) WHERE key IS NOT NULL;
  CREATE INDEX memory_sightings_memory ON memory_sightings (memory);
  CREATE INDEX memory_sightings_source ON memory_sightings (source) WHERE source IS NOT NULL;
`;

/** Each entry brings the record from the version before it to its own; entries are only ever added. */
export const versions: readonly string[] = [
  [recordTables, searchTables, ingestTables, memoryTables, executionTables, identityTable].join('\n'),
  vectorTables,
  signatureTables,
  leanerIndexes,
  linkTables,
  journalTable,
  [fingerprintTables, indexedTable].join('\n'),
  memoryIndexTables,
];

/** @param wanted the version to stop at; less than all of them only to have an old record */
export function migrate(db: DatabaseSync, wanted = versions.length): void {
  migrateTo(db, { ...recordThing, migrations: versions }, wanted);
}
