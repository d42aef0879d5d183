import { git } from '#kit/git/git.ts';
import { splitAtNul } from '#kit/git/tree.ts';
import { Redactor } from '#kit/redaction.ts';
import { pathText } from '../../ingest/repository/path-text.ts';

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

const mostOfMessage = 10_000;
const redactor = new Redactor();

/**
 * Commits that `commit` has and `since` has not, oldest first, merges left out, of the last `most` alone.
 * @param since null: from the beginning
 */
export async function readChanges(
  gitDir: string,
  commit: string,
  since: string | null,
  most: number,
): Promise<Change[]> {
  if (most === 0) return [];
  const shape = ['-z', '--name-status', '-M', '-l200', '--format=%x01%n%H%n%cI%n%B', '--no-show-signature'];
  const which = ['--no-merges', '--topo-order', `--max-count=${most}`, '--no-relative'];
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
  const message = redactor.redact(lines.join('\n').trim()).slice(0, mostOfMessage).toWellFormed();
  return { commit: commit!, at: new Date(date!).toISOString(), message, paths: [], renames: [] };
}
