import { existsSync, rmSync } from 'node:fs';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, type CoreError, Failed } from '#kit/errors.ts';
import { copyTree } from '#kit/git/objects.ts';
import { type PushOutcome, pushBranch, remoteBranch } from '../git/remote.ts';
import { refObject } from '../git/tree.ts';
import type { BuildStep, Publication, PublishOutcome, Vcs, VcsState, Workspace } from '../ports/vcs.ts';
import {
  type CloneKind,
  discardUnlessAsConfigured,
  gitDirOf,
  isAsConfigured,
  makeClone,
  requireAsConfigured,
} from './clone-folder.ts';
import { type BranchState, branchState, checkBuilt, checkTree, storedMessage } from './clone-state.ts';
import {
  changing,
  endLeftovers,
  forgetInterruption,
  isBeyondRepair,
  removeLocks,
  wasInterrupted,
  watchChildren,
} from './leftovers.ts';

export type Step<K extends BuildStep['kind']> = Extract<BuildStep, { kind: K }>;

/** What a tool does in its own way. Everything else about a clone is alike for all of them, and here. */
export interface VcsTool extends Pick<Vcs, 'kind' | 'version'> {
  readonly cloneKind: CloneKind;
  readonly crashPoints: Readonly<Record<'before_push' | 'pushed' | 'unpublished', string>>;
  /** Completes a clone that is being made in `folder`. */
  initialise(workspace: Workspace, folder: string): Promise<void>;
  /** Back to what the last finished operation recorded. */
  recover(workspace: Workspace): Promise<void>;
  operationId(workspace: Workspace): Promise<string>;
  createBranch(workspace: Workspace, step: Step<'create_branch'>): Promise<void>;
  /** Changes `present`, whose tree is another one. The objects of `step.tree` are in the clone. */
  applyPatch(workspace: Workspace, step: Step<'apply_patch'>, present: BranchState): Promise<void>;
  describe(workspace: Workspace, step: Step<'commit'>, present: BranchState): Promise<void>;
  /** Checks that the operation is known, and gives back what restores it. @throws Conflict `operation_unknown` */
  restorer(workspace: Workspace, operation: string): Promise<() => Promise<void>>;
  /** Makes the clone agree with what the remote is expected to be. */
  beforePush?(workspace: Workspace, publication: Publication): Promise<void>;
  push(workspace: Workspace, publication: Publication, signal?: AbortSignal): Promise<PushResult>;
}

/** `failed`: what the remote has now decides whether that is an error. */
export type PushResult = PushOutcome | { readonly result: 'failed'; readonly error: CoreError };

/** Version control with a tool, in clones of our own. */
export function cloneVcs(tool: VcsTool): Vcs {
  return {
    kind: tool.kind,
    version: () => tool.version(),
    async open(workspace) {
      await settle(tool, workspace);
      return inspect(tool, workspace, null);
    },
    inspect: (workspace, branch) => inspect(tool, workspace, branch),
    async build(workspace, step) {
      await settle(tool, workspace);
      return changing(workspace, async () => {
        await perform(tool, workspace, step);
        // What git has, not what the tool says: an export of jj that failed ends with exit code 0 and a warning.
        const present = await requireBranch(workspace, step.branch);
        checkBuilt(present, step, workspace.base_commit);
        return stateOf(await tool.operationId(workspace), present);
      });
    },
    async restore(workspace, operation) {
      await settle(tool, workspace);
      await changing(workspace, await tool.restorer(workspace, operation));
      return inspect(tool, workspace, null);
    },
    publish: (workspace, publication, signal) => publish(tool, workspace, publication, signal),
    unpublish: (workspace, publication, signal) => unpublish(tool, workspace, publication, signal),
  };
}

/** The clone is there, and nothing of an interrupted change is left in it. */
async function settle(tool: VcsTool, workspace: Workspace): Promise<void> {
  await endLeftovers(workspace);
  discardUnlessAsConfigured(workspace);
  if (existsSync(workspace.clone_dir) && wasInterrupted(workspace)) {
    removeLocks(gitDirOf(workspace));
    await tool.recover(workspace).catch((error) => {
      if (!isBeyondRepair(error)) throw error;
      rmSync(workspace.clone_dir, { recursive: true, force: true });
    });
  }
  if (!existsSync(workspace.clone_dir)) {
    await makeClone(workspace, tool.cloneKind, (folder) => tool.initialise(workspace, folder));
  }
  forgetInterruption(workspace);
}

async function inspect(tool: VcsTool, workspace: Workspace, branch: string | null): Promise<VcsState> {
  return stateOf(
    ...(await Promise.all([tool.operationId(workspace), branchState(gitDirOf(workspace), branch)])),
  );
}

function stateOf(operation_id: string, branch: BranchState | null): VcsState {
  const { change_id = null, commit = null, tree = null } = branch ?? {};
  return { operation_id, change_id, commit, tree };
}

async function perform(tool: VcsTool, workspace: Workspace, step: BuildStep): Promise<void> {
  const gitDir = gitDirOf(workspace);
  const { base_commit, mirror_dir } = workspace;
  switch (step.kind) {
    case 'create_branch': {
      const present = await branchState(gitDir, step.branch);
      if (present === null) return tool.createBranch(workspace, step);
      if (present.parents[0] === base_commit && present.message === storedMessage(step.message)) return;
      throw new Conflict(
        'branch_exists',
        `the clone has a branch ${step.branch} at ${present.commit} that this step did not make`,
      );
    }
    case 'apply_patch': {
      const [present] = await Promise.all([
        requireBranch(workspace, step.branch),
        copyTree(mirror_dir, gitDir, step.tree, base_commit),
      ]);
      if (present.tree !== step.tree) await tool.applyPatch(workspace, step, present);
      return;
    }
    case 'commit': {
      const present = await requireBranch(workspace, step.branch);
      checkTree(present.tree, step.tree);
      await tool.describe(workspace, step, present);
    }
  }
}

/** The branch that an earlier step made. */
export async function requireBranch(workspace: Workspace, branch: string): Promise<BranchState> {
  const state = await branchState(gitDirOf(workspace), branch);
  if (state !== null) return state;
  throw new Failed('vcs_failed', `the clone has no branch ${branch}; create_branch makes it`);
}

/** Believes the remote alone about what came of a push. */
async function publish(
  tool: VcsTool,
  workspace: Workspace,
  publication: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  const { branch, commit, expected, credential } = publication;
  requireAsConfigured(workspace);
  const present = await refObject(gitDirOf(workspace), `refs/heads/${branch}`);
  if (present !== commit) {
    throw new Conflict(
      'branch_differs',
      `branch ${branch} is at ${present ?? 'nothing'} in the clone, not at ${commit}`,
    );
  }
  await tool.beforePush?.(workspace, publication);
  crashPoint(tool.crashPoints.before_push);
  requireAsConfigured(workspace);
  const outcome = await tool.push(workspace, publication, signal);
  crashPoint(tool.crashPoints.pushed);
  const actual = await remoteBranch(workspace.push_url, branch, credential, signal);
  if (actual === commit) return { result: 'done' };
  if (outcome.result === 'failed') throw outcome.error;
  if (outcome.result === 'rejected' && actual === expected) return outcome;
  return { result: 'moved', actual, message: `${branch} is at ${actual ?? 'nothing'} on the remote` };
}

/**
 * Deletes the remote branch while it is at our commit. By URL, so that no tool takes it for the deletion of its own branch,
 * and also when the clone is gone or changed.
 */
async function unpublish(
  tool: VcsTool,
  workspace: Workspace,
  { branch, commit, credential }: Publication,
  signal?: AbortSignal,
): Promise<PublishOutcome> {
  await endLeftovers(workspace);
  const gitDir = isAsConfigured(workspace) ? gitDirOf(workspace) : workspace.mirror_dir;
  const push = { url: workspace.push_url, branch, commit: null, expected: commit, credential };
  const outcome = await pushBranch(gitDir, push, { children: watchChildren(workspace), signal });
  crashPoint(tool.crashPoints.unpublished);
  const actual = await remoteBranch(workspace.push_url, branch, credential, signal);
  if (actual === null) return { result: 'done' };
  if (outcome.result === 'rejected') return outcome;
  return { result: 'moved', actual, message: `${branch} is at ${actual} on the remote, not at ${commit}` };
}
