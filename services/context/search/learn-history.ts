import { git } from '#kit/git/git.ts';
import { splitAtNul } from '#kit/git/tree.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { pathText } from '../ingest/repository/path-text.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
import type { Change, learnChanges, learnedCommit } from './history.ts';

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
