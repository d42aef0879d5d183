import type { DatabaseSync } from 'node:sqlite';
import { git } from '#kit/git/git.ts';
import { splitAtNul } from '#kit/git/tree.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { pathText } from '../ingest/repository/path-text.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
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

const maxOfMessage = 10_000;
const redactor = new Redactor();

/**
 * Commits that `commit` has and `since` has not, oldest first, merges left out, of the last `max` alone.
 * @param since null: from the beginning
 */
async function readChanges(
  gitDir: string,
  commit: string,
  since: string | null,
  max: number,
): Promise<Change[]> {
  const shape = ['-z', '--name-status', '-M', '-l200', '--format=%x01%n%H%n%cI%n%B', '--no-show-signature'];
  const which = ['--no-merges', '--topo-order', `--max-count=${max}`, '--no-relative'];
  const range = since === null ? [commit] : [commit, `^${since}`];
  const { stdout } = await git(['log', ...shape, ...which, '--end-of-options', ...range, '--'], { gitDir });
  return changesIn(splitAtNul(stdout)).reverse();
}

interface ChangeBeingRead extends Change {
  readonly paths: string[];
  readonly renames: [from: string, to: string][];
}

function changesIn(fields: readonly Buffer[]): Change[] {
  const changes: ChangeBeingRead[] = [];
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at]!.toString('utf8');
    if (field.startsWith('\x01\n')) {
      changes.push(changeOf(field));
      continue;
    }
    const status = /^\n*([A-Z])\d*$/.exec(field)?.[1];
    const change = changes.at(-1);
    if (status === undefined || change === undefined) continue;
    const path = pathText(fields[++at]!);
    const to = status === 'R' || status === 'C' ? pathText(fields[++at]!) : path;
    change.paths.push(to);
    if (status === 'R') change.renames.push([path, to]);
  }
  return changes;
}

function changeOf(header: string): ChangeBeingRead {
  const [, commit, date, ...lines] = header.split('\n');
  const message = redactor.redact(lines.join('\n').trim()).slice(0, maxOfMessage).toWellFormed();
  return { commit: commit!, at: new Date(date!).toISOString(), message, paths: [], renames: [] };
}

/** What learning needs of the record, whatever thread it runs in. */
type HistoryAccess = RecordReader<{ learnedCommit: typeof learnedCommit }> &
  RecordWriter<{ learnChanges: typeof learnChanges }>;

const batch = 100;

/**
 * Brings what search knows of a repository's history up to a commit: what its commits say and which files they touch. Learns what
 * is new alone, where the commit has the one known before among its ancestors. Cut off at any moment, the next call completes it.
 * @param max commits that are read; 0 reads none
 */
export async function learnHistory(
  access: HistoryAccess,
  { repository, gitDir, commit, max }: { repository: string; gitDir: string; commit: string; max: number },
): Promise<void> {
  const known = await access.ask('learnedCommit', { repository });
  if (known === commit || max === 0) return;
  const since = known !== null && (await isAncestor(gitDir, known, commit)) ? known : null;
  const changes = await readChanges(gitDir, commit, since, max);
  for (let at = 0; at === 0 || at < changes.length; at += batch) {
    const isLast = at + batch >= changes.length;
    await access.run('learnChanges', {
      repository,
      changes: changes.slice(at, at + batch),
      replace: at === 0 && since === null,
      upTo: isLast ? commit : null,
    });
  }
}

async function isAncestor(gitDir: string, older: string, newer: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', older, newer];
  return (await git(args, { gitDir, accept: [1, 128] })).exitCode === 0;
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
