import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Conflict, CoreError, Failed, InvalidInput, NotFound } from '#kit/errors.ts';
import { type GitOptions, git, gitText } from '#kit/git/git.ts';
import { lookUp } from '#kit/git/objects.ts';
import { writeGitDir } from '../../git/git-dir.ts';
import { clearStaleLock, reading } from '../../git/remote.ts';
import { isPlainRef } from '../../git/tree.ts';
import { checkBranch } from '../names.ts';

/** A bare git repository of the local forge, changed by plumbing alone: no working copy, no hooks. */

export async function initBare(path: string, defaultBranch: string, objectFormat: string): Promise<void> {
  const format = `--object-format=${objectFormat}`;
  await git(['init', '--quiet', '--bare', '--template=', format, `--initial-branch=${defaultBranch}`, path]);
}

export interface Source {
  readonly default_branch: string;
  readonly object_format: string;
}

/**
 * What a new forge repository takes over from a person's repository.
 * @throws InvalidInput `source_not_a_repository`, `source_is_shallow`, `source_is_empty`
 */
export async function inspectSource(from: string): Promise<Source> {
  // Not the repository that happens to lie around this folder.
  const options = { cwd: from, env: { GIT_CEILING_DIRECTORIES: dirname(from) } };
  const objectFormat = await gitText(['rev-parse', '--show-object-format'], options).catch(
    (cause: unknown) => {
      throw new InvalidInput('source_not_a_repository', `${from} is not a git repository`, { cause });
    },
  );
  if ((await gitText(['rev-parse', '--is-shallow-repository'], options)) === 'true') {
    throw new InvalidInput('source_is_shallow', `${from} is a shallow clone: its history is not all there`, {
      hint: `run 'git -C ${from} fetch --unshallow' first`,
    });
  }
  const listed = await gitText(['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/'], options);
  const branches = listed === '' ? [] : listed.split('\n');
  const head = await git(['symbolic-ref', '--quiet', '--short', 'HEAD'], { ...options, accept: [1] });
  const current = head.stdout.toString('utf8').trim();
  if (branches.length === 0) {
    throw new InvalidInput('source_is_empty', `${from} has no branch with a commit to take over`, {
      hint: 'commit something there first, or leave --from out for an empty repository',
    });
  }
  const choice = [current, 'main', 'master'].find((name) => branches.includes(name)) ?? branches[0]!;
  checkBranch(choice);
  return { default_branch: choice, object_format: objectFormat };
}

/** Copies branches and tags, and nothing that could run: no hooks, no configuration. */
export async function copyBranches(from: string, bare: string): Promise<void> {
  const refs = ['refs/heads/*:refs/heads/*', 'refs/tags/*:refs/tags/*'];
  await git(['fetch', ...reading(from), '--quiet', '--no-tags', '--no-write-fetch-head', from, ...refs], {
    gitDir: bare,
  });
}

/** What a branch that is only another name stands for; null for a branch of its own, or none. */
export async function branchBehind(bare: string, branch: string): Promise<string | null> {
  const ref = `refs/heads/${branch}`;
  if (isPlainRef(bare, ref)) return null;
  const args = ['symbolic-ref', '--quiet', '--short', ref];
  const { stdout, exitCode } = await git(args, { gitDir: bare, accept: [1, 128] });
  return exitCode === 0 ? stdout.toString('utf8').trim() : null;
}

export interface HeadCommits {
  /** null when there is no such branch. */
  readonly branch: string | null;
  /** Where the head was when it was last looked at; stays when the branch is gone. */
  readonly remembered: string | null;
}

/** Of the heads of pull requests, one process for all. */
export async function headCommits(
  bare: string,
  pulls: readonly { readonly number: number; readonly head: string }[],
): Promise<HeadCommits[]> {
  const refs = pulls.flatMap(({ number, head }) => [`refs/heads/${head}`, `refs/pull/${number}/head`]);
  const commits = await commitsOf(bare, refs);
  return pulls.map((_, index) => ({ branch: commits[2 * index]!, remembered: commits[2 * index + 1]! }));
}

export async function rememberHead(bare: string, number: number, commit: string): Promise<void> {
  await updateRef(bare, [`refs/pull/${number}/head`, commit]);
}

async function commitsOf(bare: string, refs: readonly string[]): Promise<(string | null)[]> {
  if (refs.length === 0) return [];
  // No reference has a line break in its name.
  const names = refs.map((ref) => (ref.includes('\n') ? '' : `${ref}^{commit}`));
  return lookUp(bare, names);
}

export async function isAncestor(bare: string, ancestor: string, commit: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, commit];
  return (await git(args, { gitDir: bare, accept: [1] })).exitCode === 0;
}

/** The patch of a pull request: what its head changed since it left the base. */
export async function patchSince(bare: string, base: string, head: string): Promise<Uint8Array> {
  const args = [
    'diff',
    '--no-color',
    '--no-ext-diff',
    '--no-textconv',
    '--binary',
    '-M',
    `${base}...${head}`,
  ];
  return (await git(args, { gitDir: bare })).stdout;
}

export interface Merge {
  readonly head: string;
  readonly base: string;
  readonly message: string;
  readonly by: string;
  readonly at: string;
}

/**
 * Merges branch `head` into branch `base`. A head that `base` contains already needs no commit: `made` is false.
 * @throws NotFound `branch_not_found`, Conflict `merge_conflict` or `base_moved`
 */
export async function mergeBranch(bare: string, merge: Merge): Promise<{ commit: string; made: boolean }> {
  const [base, head] = await neededBranches(bare, [merge.base, merge.head]);
  if (await isAncestor(bare, head, base)) return { commit: base, made: false };
  const tree = await mergedTree(bare, merge, base, head);
  const env = {
    GIT_AUTHOR_NAME: merge.by,
    GIT_AUTHOR_EMAIL: '',
    GIT_AUTHOR_DATE: merge.at,
    GIT_COMMITTER_NAME: merge.by,
    GIT_COMMITTER_EMAIL: '',
    GIT_COMMITTER_DATE: merge.at,
  };
  const commit = await gitText(['commit-tree', tree, '-p', base, '-p', head, '-F', '-'], {
    gitDir: bare,
    env,
    input: merge.message,
  });
  await updateRef(bare, [`refs/heads/${merge.base}`, commit, base]).catch((cause: unknown) => {
    throw new Conflict('base_moved', `branch ${merge.base} moved while it was merged into`, {
      cause,
      hint: 'merge again',
    });
  });
  return { commit, made: true };
}

async function updateRef(bare: string, args: readonly string[]): Promise<void> {
  try {
    await git(['update-ref', ...args], { gitDir: bare });
  } catch (error) {
    const stderr = error instanceof CoreError ? String(error.facts.stderr ?? '') : '';
    if (!(await clearStaleLock(bare, stderr))) throw error;
    await git(['update-ref', ...args], { gitDir: bare });
  }
}

/** The commits of both, one process for them. @throws NotFound `branch_not_found` */
export async function neededBranches(
  bare: string,
  branches: readonly [string, string],
): Promise<[string, string]> {
  const commits = await commitsOf(
    bare,
    branches.map((branch) => `refs/heads/${branch}`),
  );
  const missing = branches.find((_, index) => commits[index] === null);
  if (missing !== undefined)
    throw new NotFound('branch_not_found', `there is no branch ${missing} in ${bare}`);
  return [commits[0]!, commits[1]!];
}

/** Works on the objects of a repository without its settings: a merge driver of any name may stand there. */
async function aside<T>(
  bare: string,
  idLength: number,
  work: (options: GitOptions) => Promise<T>,
): Promise<T> {
  const gitDir = await mkdtemp(join(bare, 'core-aside-'));
  try {
    writeGitDir(gitDir, idLength);
    return await work({ gitDir, env: { GIT_OBJECT_DIRECTORY: join(bare, 'objects') } });
  } finally {
    await rm(gitDir, { recursive: true, force: true });
  }
}

async function mergedTree(bare: string, merge: Merge, base: string, head: string): Promise<string> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', base, head];
  const { stdout, exitCode } = await aside(bare, base.length, (options) =>
    git(args, { ...options, accept: [1] }),
  );
  const [tree, ...conflicts] = stdout
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '');
  if (tree === undefined)
    throw new Failed('git_failed', `git merge-tree said nothing about ${base} and ${head}`);
  if (exitCode === 0) return tree;
  const files = [...new Set(conflicts)];
  throw new Conflict(
    'merge_conflict',
    `${merge.head} and ${merge.base} changed the same lines of ${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}`,
    { facts: { files }, hint: `merge ${merge.base} into ${merge.head}, push, then try again` },
  );
}
