import type { DatabaseSync } from 'node:sqlite';
import { Failed } from '#kit/errors.ts';
import { executionTables } from '../execution/execution-tables.ts';
import { graphTables } from '../graph/graph-tables.ts';
import { ingestTables } from '../ingest/ingest-tables.ts';
import { memoryTables } from '../memory/memory-tables.ts';
import { signatureTables } from '../memory/signature-tables.ts';
import { searchTables } from '../search/search-tables.ts';
import { vectorTables } from '../vectors/vector-tables.ts';
import { leanerIndexes } from './leaner-indexes.ts';

/**
 * The record: everything that core-context was told, and the only copy of what cannot be read again. Times are ISO 8601 in
 * UTC with milliseconds, so that they sort as text.
 *
 * `changed` is the place in the change sequence at which a row was written last. A projection that has seen everything up to
 * n asks for the rows with a higher one; rows that are gone leave a line in `deletions`.
 */
const recordTables = `
  CREATE TABLE nodes (
    node INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    kind TEXT NOT NULL,
    repository TEXT,
    title TEXT NOT NULL,
    path TEXT,
    start_line INTEGER,
    end_line INTEGER,
    properties TEXT NOT NULL DEFAULT '{}',
    valid_from TEXT NOT NULL,
    valid_to TEXT,
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX nodes_changed ON nodes (changed);
  CREATE INDEX nodes_place ON nodes (repository, path);
  CREATE INDEX nodes_kind ON nodes (kind, repository);

  CREATE TABLE edges (
    edge INTEGER PRIMARY KEY,
    from_node INTEGER NOT NULL REFERENCES nodes (node) ON DELETE CASCADE,
    type TEXT NOT NULL,
    kind TEXT NOT NULL,
    to_node INTEGER NOT NULL REFERENCES nodes (node) ON DELETE CASCADE,
    weight REAL NOT NULL DEFAULT 1,
    ordinal INTEGER,
    valid_from TEXT NOT NULL,
    valid_to TEXT,
    changed INTEGER NOT NULL,
    UNIQUE (from_node, type, kind, to_node)
  ) STRICT;
  CREATE INDEX edges_to ON edges (to_node, type, kind);
  CREATE INDEX edges_changed ON edges (changed);

  CREATE TABLE deletions (
    changed INTEGER PRIMARY KEY,
    subject TEXT NOT NULL CHECK (subject IN ('node', 'edge')),
    key TEXT NOT NULL
  ) STRICT;
`;

/** Each entry brings the record from the version before it to its own; entries are only ever added. */
const versions: readonly string[] = [
  [recordTables, searchTables, ingestTables, memoryTables, executionTables, graphTables].join('\n'),
  vectorTables,
  signatureTables,
  leanerIndexes,
];

/**
 * Makes the record's tables, or brings older ones up to date. The caller holds the only connection that writes.
 * @param wanted the version to stop at; less than all of them only to have an old record
 */
export function migrate(db: DatabaseSync, wanted = versions.length): void {
  const { user_version: present } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (present > versions.length) {
    throw new Failed(
      'record_newer',
      `the context record is of version ${present}: this Core knows versions up to ${versions.length}`,
      { hint: 'Start the newer Core that wrote it, or choose another folder with --home DIR.' },
    );
  }
  for (let version = present; version < wanted; version++) {
    db.exec(`BEGIN IMMEDIATE; ${versions[version]!}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}
