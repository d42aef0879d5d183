import { existsSync, rmSync } from 'node:fs';
import { crashPoint } from '#kit/crash-point.ts';
import { Failed } from '#kit/errors.ts';
import { git, gitText } from '#kit/git/git.ts';
import { copyTree } from '#kit/git/objects.ts';
import { treeOf } from '#kit/git/tree.ts';
import { pushBranch, remoteBranch } from '../../git/remote.ts';
import type { BuildStep, Publication, PublishOutcome, Vcs, VcsState, Workspace } from '../../ports/vcs.ts';
import { discardUnlessAsConfigured, requireAsConfigured } from '../clone-check.ts';
import { gitDirOf, makeClone } from '../clone-folder.ts';
import {
  type BranchState,
  branchExists,
  branchState,
  checkBuilt,
  checkTree,
  requireBranch,
  stateOf,
  storedMessage,
} from '../clone-state.ts';
import {
  changing,
  endLeftovers,
  forgetInterruption,
  isBeyondRepair,
  removeLocks,
  wasInterrupted,
  watchChildren,
} from '../leftovers.ts';
import { requirePublishable, unpublishBranch } from '../publishing.ts';
import { changeIdOf, writeCommit } from './commit-object.ts';
import { lastOperation, readOperation, recordOperation, restoreBranches, setHead } from './operations.ts';

type Step<K extends BuildStep['kind']> = Extract<BuildStep, { kind: K }>;

/**
 * Builds changes with git alone, from objects: the clone is bare, its files are never written. An operation id is a commit of
 * our own operation log; see operations.ts.
 */
export function gitVcs(): Vcs {
  return { kind: 'git', version, open, build, inspect, restore, publish, unpublish };
}

async function version(): Promise<{ version: string; tested: boolean; warning: string | null }> {
  const [, found = 'unknown', major, minor] = /((\d+)\.(\d+)[\d.]*)/.exec(await gitText(['--version'])) ?? [];
  const tested = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 31);
  return {
    version: found,
    tested,
    warning: tested ? null : `git ${found} is installed; needed is 2.31 or later`,
  };
}

async function open(workspace: Workspace): Promise<VcsState> {
  await settle(workspace);
  return inspect(workspace, null);
}

/** The clone is there, and nothing of an interrupted change is left in it. */
async function settle(workspace: Workspace): Promise<void> {
  await endLeftovers(workspace);
  discardUnlessAsConfigured(workspace);
  if (existsSync(workspace.clone_dir) && wasInterrupted(workspace)) {
    await recover(workspace).catch((error) => {
      if (!isBeyondRepair(error)) throw error;
      rmSync(workspace.clone_dir, { recursive: true, force: true });
    });
  }
  if (!existsSync(workspace.clone_dir)) {
    await makeClone(workspace, 'bare', async (folder) => {
      crashPoint('vcs.git.clone_made');
      await recordOperation({ ...workspace, clone_dir: folder }, 'clone');
    });
  }
  forgetInterruption(workspace);
}

/** Back to what the last operation recorded. */
async function recover(workspace: Workspace): Promise<void> {
  removeLocks(gitDirOf(workspace));
  await goTo(workspace, await requireOperation(workspace));
}

async function requireOperation(workspace: Workspace): Promise<string> {
  const operation = await lastOperation(workspace);
  if (operation !== null) return operation;
  throw new Failed('vcs_failed', `the clone ${workspace.clone_dir} has no operation log`);
}

async function inspect(workspace: Workspace, branch: string | null): Promise<VcsState> {
  return stateOf(
    ...(await Promise.all([requireOperation(workspace), branchState(gitDirOf(workspace), branch)])),
  );
}

async function build(workspace: Workspace, step: BuildStep): Promise<VcsState> {
  await settle(workspace);
  return changing(workspace, async () => {
    await perform(workspace, step);
    const present = await requireBranch(gitDirOf(workspace), step.branch);
    checkBuilt(present, step, workspace.base_commit);
    return stateOf(await requireOperation(workspace), present);
  });
}

function perform(workspace: Workspace, step: BuildStep): Promise<void> {
  switch (step.kind) {
    case 'create_branch':
      return createBranch(workspace, step);
    case 'apply_patch':
      return applyPatch(workspace, step);
    case 'commit':
      return describe(workspace, step);
  }
}

async function createBranch(workspace: Workspace, step: Step<'create_branch'>): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const { branch, message } = step;
  const base = workspace.base_commit;
  const present = await branchState(gitDir, branch);
  if (present !== null) {
    if (present.parents[0] === base && present.message === storedMessage(message)) return;
    throw branchExists(branch, present.commit);
  }
  const tree = await treeOf(gitDir, base);
  const change_id = changeIdOf(workspace.run_id);
  const commit = await writeCommit(gitDir, { ...step, tree, parent: base, change_id });
  await git(['update-ref', '--no-deref', `refs/heads/${branch}`, commit, '0'.repeat(commit.length)], {
    gitDir,
  });
  crashPoint('vcs.git.branch_made');
  await setHead(gitDir, `ref: refs/heads/${branch}`);
  crashPoint('vcs.git.head_set');
  await recordOperation(workspace, step.kind);
  crashPoint('vcs.git.recorded');
}

async function applyPatch(workspace: Workspace, step: Step<'apply_patch'>): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const { branch, tree } = step;
  const [present] = await Promise.all([
    requireBranch(gitDir, branch),
    copyTree(workspace.mirror_dir, gitDir, tree, workspace.base_commit),
  ]);
  if (present.tree === tree) return;
  await amend(workspace, present, { ...step, message: present.message });
  crashPoint('vcs.git.tree_committed');
  await recordOperation(workspace, step.kind);
}

async function describe(workspace: Workspace, step: Step<'commit'>): Promise<void> {
  const present = await requireBranch(gitDirOf(workspace), step.branch);
  checkTree(present.tree, step.tree);
  if (present.message === storedMessage(step.message)) return;
  await amend(workspace, present, step);
  crashPoint('vcs.git.described');
  await recordOperation(workspace, step.kind);
}

async function amend(
  workspace: Workspace,
  present: BranchState,
  commit: Pick<Step<'commit'>, 'tree' | 'message' | 'author' | 'at'>,
): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const change_id = present.change_id ?? changeIdOf(workspace.run_id);
  const { tree, message, author, at } = commit;
  const parent = workspace.base_commit;
  const made = await writeCommit(gitDir, { tree, message, author, at, parent, change_id });
  await git(['update-ref', '--no-deref', `refs/heads/${present.name}`, made, present.commit], { gitDir });
}

async function restore(workspace: Workspace, operation: string): Promise<VcsState> {
  await settle(workspace);
  await readOperation(workspace, operation);
  await changing(workspace, async () => {
    await recordOperation(workspace, 'before restore');
    crashPoint('vcs.git.before_restore');
    await goTo(workspace, operation);
    await recordOperation(workspace, 'restore');
  });
  return inspect(workspace, null);
}

async function goTo(workspace: Workspace, operation: string): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const state = await readOperation(workspace, operation);
  await restoreBranches(gitDir, state.branches);
  crashPoint('vcs.git.refs_restored');
  await setHead(gitDir, state.head);
}

async function publish(
  workspace: Workspace,
  publication: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  const { branch, commit, expected, credential } = publication;
  await requirePublishable(workspace, branch, commit);
  crashPoint('vcs.git.before_push');
  requireAsConfigured(workspace);
  const push = { url: workspace.push_url, branch, commit, expected, credential };
  const outcome = await pushBranch(gitDirOf(workspace), push, {
    children: watchChildren(workspace),
    ...(signal === undefined ? {} : { signal }),
  });
  crashPoint('vcs.git.pushed');
  const actual = await remoteBranch(workspace.push_url, branch, credential, signal);
  if (actual === commit) return { result: 'done' };
  if (outcome.result === 'rejected' && actual === expected) return outcome;
  return { result: 'moved', actual, message: `${branch} is at ${actual ?? 'nothing'} on the remote` };
}

function unpublish(
  workspace: Workspace,
  publication: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  return unpublishBranch(workspace, publication, 'vcs.git.unpublished', signal);
}
