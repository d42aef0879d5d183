import { Conflict, Failed } from '#kit/errors.ts';
import { git } from '#kit/git/git.ts';
import type { BuildStep } from '../ports/vcs.ts';

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
  const name = branch ?? (await onlyBranch(gitDir));
  if (name === null) return null;
  const found = await git(['cat-file', '--batch'], { gitDir, input: `refs/heads/${name}\n` });
  const output = found.stdout.toString('utf8');
  const [, commit, object] = /^([0-9a-f]+) commit \d+\n(.*)\n$/s.exec(output) ?? [];
  if (commit === undefined || object === undefined) return null;
  const end = object.indexOf('\n\n');
  const headers = object.slice(0, end);
  return {
    name,
    commit,
    tree: /^tree (\S+)$/m.exec(headers)![1]!,
    change_id: /^change-id (\S+)$/m.exec(headers)?.[1] ?? null,
    parents: [...headers.matchAll(/^parent (\S+)$/gm)].map(([, id]) => id!),
    headers,
    message: object.slice(end + 2),
  };
}

async function onlyBranch(gitDir: string): Promise<string | null> {
  const { stdout } = await git(['for-each-ref', '--count=1', '--format=%(refname)', 'refs/heads'], {
    gitDir,
  });
  return stdout.toString('utf8').trim().replace('refs/heads/', '') || null;
}

/** What a step was to leave is what git has. @throws Failed `vcs_failed`, Conflict `tree_differs` */
export function checkBuilt(present: BranchState, step: BuildStep, base: string): void {
  if (present.parents.length !== 1 || present.parents[0] !== base) {
    throw new Failed(
      'vcs_failed',
      `branch ${present.name} is at ${present.commit}, not one commit on ${base}`,
    );
  }
  if (step.kind !== 'create_branch') checkTree(present.tree, step.tree);
  if (step.kind !== 'apply_patch' && present.message !== storedMessage(step.message)) {
    throw new Failed(
      'vcs_failed',
      `commit ${present.commit} has another message than the one that was approved`,
    );
  }
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
