import type { DatabaseSync } from 'node:sqlite';

/** The commit up to which a repository's history was learned; null where it was not, or not to an end. */
export function learnedCommit(
  db: DatabaseSync,
  { repository }: { readonly repository: string },
): string | null {
  const row = db.prepare('SELECT commit_id FROM learned_histories WHERE repository = ?').get(repository);
  return (row?.commit_id as string | null | undefined) ?? null;
}
