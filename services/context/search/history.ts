import type { DatabaseSync } from 'node:sqlite';
import type { GraphRecord } from '../record/graph-record.ts';
import { rebuildTexts } from './text-index.ts';
import { withoutTrailers } from './words/query-terms.ts';
import { termsOf } from './words/words.ts';

export const searchCommands = { learnChanges, rebuildTexts } as const;

/** A commit of a repository's history, as search learns it. */
export interface Change {
  readonly commit: string;
  /** ISO 8601, in UTC with milliseconds; when it was committed. */
  readonly at: string;
  /** Subject and body, secrets masked. */
  readonly message: string;
  /** Paths that it touched, by the names that they have after it. */
  readonly paths: readonly string[];
  /** Old and new name. */
  readonly renames: readonly (readonly [from: string, to: string])[];
}

/** The commit up to which a repository's history was learned; null where it was not, or not to an end. */
export function learnedCommit(
  db: DatabaseSync,
  { repository }: { readonly repository: string },
): string | null {
  const row = db.prepare('SELECT commit_id FROM learned_histories WHERE repository = ?').get(repository);
  return (row?.commit_id as string | null | undefined) ?? null;
}

export interface LearnChanges {
  readonly repository: string;
  /** Oldest first. */
  readonly changes: readonly Change[];
  /** Forgets what was known of the repository's history before. */
  readonly replace: boolean;
  /** With the last of the changes: the commit up to which the history is known now. */
  readonly upTo: string | null;
}

/** A change of more files says nothing of any of them. */
const maxFiles = 50;

/** Learns commits, in their order; those that are known stay as they are. */
export function learnChanges(
  record: GraphRecord,
  { repository, changes, replace, upTo }: LearnChanges,
): void {
  if (replace) forgetHistory(record, repository);
  for (const change of changes) {
    rename(record, repository, change.renames);
    if (change.paths.length > 0 && change.paths.length <= maxFiles) learn(record, repository, change);
  }
  if (replace || upTo !== null) setLearned(record, repository, upTo);
}

function learn(record: GraphRecord, repository: string, { commit, at, message, paths }: Change): void {
  const row = record
    .prepare(
      `INSERT INTO changes (repository, commit_id, at, files) VALUES (?, ?, ?, ?)
       ON CONFLICT (repository, commit_id) DO NOTHING RETURNING change`,
    )
    .get(repository, commit, at, paths.length) as { change: number } | undefined;
  if (row === undefined) return;
  const file = record.prepare(
    'INSERT OR IGNORE INTO changed_files (change, repository, path) VALUES (?, ?, ?)',
  );
  for (const path of paths) file.run(row.change, repository, path);
  const terms = [...termsOf(withoutTrailers(message)).keys()].join(' ');
  record.prepare('INSERT INTO change_index (rowid, message) VALUES (?, ?)').run(row.change, terms);
}

/** What happened to a file under its old name is its history still. */
function rename(record: GraphRecord, repository: string, renames: Change['renames']): void {
  const statement = record.prepare(
    'UPDATE OR REPLACE changed_files SET path = ? WHERE repository = ? AND path = ?',
  );
  for (const [from, to] of renames) statement.run(to, repository, from);
}

function forgetHistory(record: GraphRecord, repository: string): void {
  const known = record.prepare('SELECT change FROM changes WHERE repository = ?').all(repository);
  const forget = record.prepare('DELETE FROM change_index WHERE rowid = ?');
  for (const { change } of known) forget.run(change as number);
  record.prepare('DELETE FROM changes WHERE repository = ?').run(repository);
}

function setLearned(record: GraphRecord, repository: string, commit: string | null): void {
  record
    .prepare(
      `INSERT INTO learned_histories (repository, commit_id) VALUES (?, ?)
       ON CONFLICT (repository) DO UPDATE SET commit_id = excluded.commit_id`,
    )
    .run(repository, commit);
}
