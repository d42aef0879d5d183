import { createHash } from 'node:crypto';
import { crashPoint } from '#kit/crash-point.ts';
import { Failed } from '#kit/errors.ts';
import { gitText } from '#kit/git/git.ts';
import { treeOf } from '#kit/git/tree.ts';
import type { Author } from '../../action.ts';
import { pushBranch } from '../../git/remote.ts';
import type { Vcs, Workspace } from '../../ports/vcs.ts';
import { gitDirOf } from '../clone-folder.ts';
import { type BranchState, storedMessage } from '../clone-state.ts';
import { cloneVcs, type Step, type VcsTool } from '../clone-vcs.ts';
import { watchChildren } from '../leftovers.ts';
import {
  lastOperation,
  readOperation,
  recordClone,
  recordOperation,
  restoreBranches,
  setHead,
} from './operations.ts';

/**
 * Builds changes with git alone, from objects: the clone is bare, its files are never written. An operation id is a commit of
 * our own operation log; see operations.ts.
 */
export function gitVcs(): Vcs {
  return cloneVcs(tool);
}

const tool: VcsTool = {
  kind: 'git',
  cloneKind: 'bare',
  crashPoints: {
    before_push: 'vcs.git.before_push',
    pushed: 'vcs.git.pushed',
    unpublished: 'vcs.git.unpublished',
  },
  async version() {
    const words = await gitText(['--version']);
    const [, found = 'unknown', major, minor] = /((\d+)\.(\d+)[\d.]*)/.exec(words) ?? [];
    const tested = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 31);
    const warning = tested ? null : `git ${found} is installed; needed is 2.31 or later`;
    return { version: found, tested, warning };
  },
  async initialise(workspace, folder) {
    crashPoint('vcs.git.clone_made');
    await recordClone({ ...workspace, clone_dir: folder });
  },
  recover: async (workspace) => goTo(workspace, await operationId(workspace)),
  operationId,
  async createBranch(workspace, step) {
    const gitDir = gitDirOf(workspace);
    const parent = workspace.base_commit;
    const tree = await treeOf(gitDir, parent);
    const commit = await writeCommit(gitDir, {
      ...step,
      tree,
      parent,
      change_id: changeIdOf(workspace.run_id),
    });
    await setHead(gitDir, `ref: refs/heads/${step.branch}`);
    crashPoint('vcs.git.head_set');
    await recordOperation(workspace, step.kind, { branch: step.branch, from: null, to: commit });
    crashPoint('vcs.git.recorded');
  },
  async applyPatch(workspace, step, present) {
    const to = await amended(workspace, present, { ...step, message: present.message });
    crashPoint('vcs.git.tree_committed');
    await recordOperation(workspace, step.kind, { branch: present.name, from: present.commit, to });
  },
  async describe(workspace, step, present) {
    if (present.message === storedMessage(step.message)) return;
    const to = await amended(workspace, present, step);
    crashPoint('vcs.git.described');
    await recordOperation(workspace, step.kind, { branch: present.name, from: present.commit, to });
  },
  async restorer(workspace, operation) {
    await readOperation(workspace, operation);
    return async () => {
      await recordOperation(workspace, 'before restore');
      crashPoint('vcs.git.before_restore');
      await goTo(workspace, operation);
      await recordOperation(workspace, 'restore');
    };
  },
  push: (workspace, { branch, commit, expected, credential }, signal) =>
    pushBranch(
      gitDirOf(workspace),
      { url: workspace.push_url, branch, commit, expected, credential },
      { children: watchChildren(workspace), signal },
    ),
};

async function operationId(workspace: Workspace): Promise<string> {
  const operation = await lastOperation(workspace);
  if (operation !== null) return operation;
  throw new Failed('vcs_failed', `the clone ${workspace.clone_dir} has no operation log`);
}

/** Writes the commit that takes the place of the present one. */
function amended(
  workspace: Workspace,
  present: BranchState,
  { tree, message, author, at }: Pick<Step<'commit'>, 'tree' | 'message' | 'author' | 'at'>,
): Promise<string> {
  const change_id = present.change_id ?? changeIdOf(workspace.run_id);
  const parent = workspace.base_commit;
  return writeCommit(gitDirOf(workspace), { tree, message, author, at, parent, change_id });
}

async function goTo(workspace: Workspace, operation: string): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const state = await readOperation(workspace, operation);
  await restoreBranches(gitDir, state.branches);
  crashPoint('vcs.git.refs_restored');
  await setHead(gitDir, state.head);
}

interface NewCommit {
  readonly tree: string;
  readonly parent: string;
  readonly change_id: string;
  readonly author: Author;
  /** RFC 3339. */
  readonly at: string;
  readonly message: string;
}

/** Stores a commit that carries its change id where jj reads it; the same input makes the same commit. */
function writeCommit(gitDir: string, commit: NewCommit): Promise<string> {
  const seconds = Math.floor(Date.parse(commit.at) / 1000);
  const person = `${plain(commit.author.name) || 'Core'} <${plain(commit.author.email)}> ${seconds} +0000`;
  const lines = [
    `tree ${commit.tree}`,
    `parent ${commit.parent}`,
    `author ${person}`,
    `committer ${person}`,
    `change-id ${commit.change_id}`,
    '',
    storedMessage(commit.message).replaceAll('\0', ''),
  ];
  return gitText(['hash-object', '-t', 'commit', '-w', '--stdin'], { gitDir, input: lines.join('\n') });
}

/** jj's form of a change id: 16 bytes as hex, with `z` to `k` for `0` to `f`. One run has one change. */
function changeIdOf(runId: string): string {
  const hex = createHash('sha256').update(`change of ${runId}`).digest('hex').slice(0, 32);
  return hex.replace(/[0-9a-f]/g, (digit) => 'zyxwvutsrqponmlk'[Number.parseInt(digit, 16)]!);
}

function plain(text: string): string {
  return text.replace(/[\0-\x1f<>]/g, ' ').trim();
}
