import type { DatabaseSync } from 'node:sqlite';
import type { SearchRequest, SearchResult } from '#kit/contracts/context/search.ts';
import { search } from './search.ts';

/** See store/queries.ts. */
export const searchQueries = {
  search: (db: DatabaseSync, request: SearchRequest): SearchResult[] => search(db, request),
  learnedCommit,
} as const;

/** The commit up to which a repository's history was learned; null where it was not, or not to an end. */
function learnedCommit(db: DatabaseSync, { repository }: { readonly repository: string }): string | null {
  const row = db.prepare('SELECT commit_id FROM learned_histories WHERE repository = ?').get(repository);
  return (row?.commit_id as string | null | undefined) ?? null;
}
