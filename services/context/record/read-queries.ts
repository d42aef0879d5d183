import { executionQueries } from '../execution/execution-queries.ts';
import { graphQueries } from '../graph/graph-queries.ts';
import { ingestQueries } from '../ingest/ingest-queries.ts';
import { memoryQueries } from '../memory/memory-queries.ts';
import { searchQueries } from '../search/search-queries.ts';
import { vectorQueries } from '../vectors/vector-queries.ts';
import { recordQueries } from './record-queries.ts';

/**
 * What a reader's thread can be asked, by name: `(db, input) => output`, synchronous, in a read transaction. Input and output
 * are plain data. Each domain brings its own.
 */
export const readQueries = {
  ...recordQueries,
  ...ingestQueries,
  ...searchQueries,
  ...memoryQueries,
  ...executionQueries,
  ...graphQueries,
  ...vectorQueries,
} as const;

export type ReadQueries = typeof readQueries;
