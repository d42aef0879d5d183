import { Conflict, Failed } from '#kit/errors.ts';
import { git } from '../../git/git.ts';

/** One branch of a clone, as git sees it. */
export interface BranchState {
  readonly name: string;
  readonly commit: string;
  readonly tree: string;
  readonly change_id: string | null;
  /** Header lines of the commit object. */
  readonly headers: string;
  readonly message: string;
  readonly parents: readonly string[];
}

/** The branch of that name, or, without a name, the one that the clone has; null where there is none. */
export async function branchState(gitDir: string, branch: string | null): Promise<BranchState | null> {
  const format = '--format=%(refname:lstrip=2)%00%(objectname)%00%(tree)';
  const pattern = branch === null ? 'refs/heads' : `refs/heads/${branch}`;
  const { stdout } = await git(['for-each-ref', '--count=1', format, '--', pattern], { gitDir });
  const [name, commit, tree] = stdout.toString('utf8').trimEnd().split('\0');
  if (!name || !commit || !tree || (branch !== null && name !== branch)) return null;
  const text = (await git(['cat-file', 'commit', commit], { gitDir })).stdout.toString('utf8');
  const end = text.indexOf('\n\n');
  const headers = text.slice(0, end);
  return {
    name,
    commit,
    tree,
    change_id: /^change-id (\S+)$/m.exec(headers)?.[1] ?? null,
    headers,
    message: text.slice(end + 2),
    parents: [...headers.matchAll(/^parent (\S+)$/gm)].map(([, id]) => id!),
  };
}

/** The branch that an earlier step made. */
export async function requireBranch(gitDir: string, branch: string): Promise<BranchState> {
  const state = await branchState(gitDir, branch);
  if (state !== null) return state;
  throw new Failed('vcs_failed', `the clone has no branch ${branch}; create_branch makes it`);
}

export function branchExists(branch: string, commit: string): Conflict {
  return new Conflict(
    'branch_exists',
    `the clone has a branch ${branch} at ${commit} that this step did not make`,
  );
}

/** @throws Conflict `tree_differs` */
export function checkTree(actual: string, approved: string): void {
  if (actual === approved) return;
  throw new Conflict('tree_differs', `the commit has tree ${actual}; approved was ${approved}`);
}

/** A message as git stores it: one line break at its end. */
export function storedMessage(message: string): string {
  return `${message.trimEnd()}\n`;
}
