import { join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, ObjectId } from '#kit/decode.ts';
import { Conflict, Failed } from '#kit/errors.ts';
import { git, gitText } from '#kit/git/git.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { refObject } from '../../git/tree.ts';
import type { Workspace } from '../../ports/vcs.ts';
import { gitDirOf } from '../clone-folder.ts';

/**
 * The operation log: each operation is a commit on `refs/recovery/<run>/head` whose tree is the base's, whose message
 * is `RecordedState`, and whose parents are the operation before and every branch, so that nothing is lost. It only grows.
 */
const RecordedState = t.strict({
  operation: t.string,
  /** `ref: refs/heads/…`, or the commit of a detached HEAD. */
  head: t.string,
  branches: t.record(t.string, ObjectId),
});
type RecordedState = t.TypeOf<typeof RecordedState>;

/** Where a branch is to be. */
export interface BranchMove {
  readonly branch: string;
  /** null makes the branch. */
  readonly from: string | null;
  readonly to: string;
}

/** Moves the branch, if any, and records how things are then, in one transaction. */
export async function recordOperation(
  workspace: Workspace,
  operation: string,
  move: BranchMove | null = null,
): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const [previous, present] = await Promise.all([lastOperation(workspace), branchCommits(gitDir)]);
  if (move === null) return write(workspace, previous, { operation, branches: present }, []);
  const ref = `refs/heads/${move.branch}`;
  const branches = { ...present, [ref]: move.to };
  await write(workspace, previous, { operation, branches }, [commandFor(ref, move.from, move.to)]);
}

/** The same for a clone that was just made: it has no operation and no branch. */
export function recordClone(workspace: Workspace): Promise<void> {
  return write(workspace, null, { operation: 'clone', branches: {} }, []);
}

/** @param commands that bring the branches to where they are in the record */
async function write(
  workspace: Workspace,
  previous: string | null,
  { operation, branches }: Pick<RecordedState, 'operation' | 'branches'>,
  commands: readonly string[],
): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const state: RecordedState = { operation, head: readHead(gitDir), branches };
  const parents = new Set([...(previous === null ? [] : [previous]), ...Object.values(branches)]);
  const args = [...parents].flatMap((parent) => ['-p', parent]);
  const commit = await gitText(['commit-tree', ...args, `${workspace.base_commit}^{tree}`], {
    gitDir,
    input: `${JSON.stringify(state)}\n`,
    env: {
      GIT_AUTHOR_NAME: 'Core',
      GIT_AUTHOR_EMAIL: 'core@localhost',
      GIT_COMMITTER_NAME: 'Core',
      GIT_COMMITTER_EMAIL: 'core@localhost',
    },
  });
  await updateRefs(gitDir, [...commands, commandFor(operationsRef(workspace), previous, commit)]);
}

export function lastOperation(workspace: Workspace): Promise<string | null> {
  return refObject(gitDirOf(workspace), operationsRef(workspace));
}

/** @throws Conflict `operation_unknown` when this clone did not record it */
export async function readOperation(workspace: Workspace, operation: string): Promise<RecordedState> {
  const gitDir = gitDirOf(workspace);
  const ours =
    /^[0-9a-f]{40,64}$/.test(operation) &&
    (
      await git(['merge-base', '--is-ancestor', operation, operationsRef(workspace)], {
        gitDir,
        accept: [1, 128],
      })
    ).exitCode === 0;
  const text = ours ? await gitText(['log', '-1', '--format=%B', operation, '--'], { gitDir }) : '';
  if (!text.startsWith('{"operation"')) {
    throw new Conflict(
      'operation_unknown',
      `the clone ${workspace.clone_dir} knows no operation ${operation}`,
    );
  }
  return decodeJson(RecordedState, text, `operation ${operation}`);
}

/** Points all branches where they were, in one transaction. */
export async function restoreBranches(gitDir: string, wanted: RecordedState['branches']): Promise<void> {
  const present = await branchCommits(gitDir);
  const commands: string[] = [];
  for (const [ref, commit] of Object.entries(present)) {
    const target = wanted[ref];
    if (target === undefined) commands.push(`delete ${ref}\0${commit}\0`);
    else if (target !== commit) commands.push(commandFor(ref, commit, target));
  }
  for (const [ref, commit] of Object.entries(wanted)) {
    if (present[ref] === undefined) commands.push(commandFor(ref, null, commit));
  }
  if (commands.length > 0) await updateRefs(gitDir, commands);
}

/** @param from where the ref must be; null: it must not exist */
function commandFor(ref: string, from: string | null, to: string): string {
  return from === null ? `create ${ref}\0${to}\0` : `update ${ref}\0${to}\0${from}\0`;
}

async function updateRefs(gitDir: string, commands: readonly string[]): Promise<void> {
  const input = ['start\0', ...commands, 'prepare\0', 'commit\0'].join('');
  await git(['update-ref', '--no-deref', '--stdin', '-z'], { gitDir, input });
}

/** @param head as in `RecordedState` */
export async function setHead(gitDir: string, head: string): Promise<void> {
  if (readHead(gitDir) === head) return;
  if (head.startsWith('ref: ')) await git(['symbolic-ref', 'HEAD', head.slice(5)], { gitDir });
  else await git(['update-ref', '--no-deref', 'HEAD', head], { gitDir });
}

async function branchCommits(gitDir: string): Promise<Record<string, string>> {
  const { stdout } = await git(['for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads'], {
    gitDir,
  });
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  return Object.fromEntries(lines.map((line) => line.split(' ') as [string, string]));
}

function readHead(gitDir: string): string {
  const head = readSmallFile(join(gitDir, 'HEAD')).trim();
  if (/^(ref: refs\/|[0-9a-f]{40,64}$)/.test(head)) return head;
  throw new Failed('vcs_failed', `${gitDir}/HEAD is damaged`);
}

function operationsRef(workspace: Workspace): string {
  return `refs/recovery/${workspace.run_id}/head`;
}
