import type { DatabaseSync } from 'node:sqlite';
import type { SearchRequest, SearchResult } from '#kit/contracts/context/search.ts';
import { learnedCommit } from './history/history-queries.ts';
import { search } from './search.ts';

/** See store/queries.ts. */
export const searchQueries = {
  search: (db: DatabaseSync, request: SearchRequest): SearchResult[] => search(db, request),
  learnedCommit,
} as const;
