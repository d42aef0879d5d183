import type { DatabaseSync } from 'node:sqlite';
import { executionQueries } from '../execution/execution-queries.ts';
import { graphQueries } from '../graph/graph-queries.ts';
import { ingestQueries } from '../ingest/ingest-queries.ts';
import { memoryQueries } from '../memory/memory-queries.ts';
import { searchQueries } from '../search/search.ts';
import { vectorQueries } from '../vectors/vectors.ts';

export interface RecordCounts {
  readonly nodes: number;
  readonly edges: number;
  readonly memories: number;
  readonly texts: number;
}

export interface RecordFindings {
  /** What SQLite's own check says; empty when the record is sound. */
  readonly damage: readonly string[];
  /** Rows that name others which are not there. */
  readonly orphans: number;
  readonly counts: RecordCounts;
}

/** Everything that readers of the record can be asked; each domain brings its own. */
export const readQueries = {
  touchRecord,
  countRecord,
  checkRecord,
  ...ingestQueries,
  ...searchQueries,
  ...memoryQueries,
  ...executionQueries,
  ...graphQueries,
  ...vectorQueries,
} as const;

export type ReadQueries = typeof readQueries;

/** Cheap: reads one row. Throws where the record cannot be read. */
function touchRecord(db: DatabaseSync, _: null): true {
  db.prepare('SELECT node FROM nodes LIMIT 1').get();
  db.prepare('SELECT node FROM bodies LIMIT 1').get();
  return true;
}

function countRecord(db: DatabaseSync, _: null): RecordCounts {
  return db
    .prepare(
      `SELECT (SELECT count(*) FROM nodes) AS nodes, (SELECT count(*) FROM edges) AS edges,
              (SELECT count(*) FROM memories) AS memories, (SELECT count(*) FROM bodies) AS texts`,
    )
    .get() as unknown as RecordCounts;
}

/** Reads everything. */
function checkRecord(db: DatabaseSync, _: null): RecordFindings {
  const rows = db.prepare('PRAGMA integrity_check(20)').all() as { integrity_check: string }[];
  const damage = rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
  const { orphans } = db.prepare('SELECT count(*) AS orphans FROM pragma_foreign_key_check').get() as {
    orphans: number;
  };
  return { damage, orphans, counts: countRecord(db, null) };
}
