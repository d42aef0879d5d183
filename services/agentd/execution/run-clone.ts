import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Conflict } from '#kit/errors.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import { once } from '#kit/once.ts';
import { actionKinds, type VcsFacts } from '../action.ts';
import type { Clone } from '../actions/executor.ts';
import { actionType } from '../actions/registry.ts';
import type { Mirror } from '../git/mirror.ts';
import { applyPatchToTree } from '../git/patch.ts';
import { remoteBranch } from '../git/remote.ts';
import type { Repository } from '../ports/forge.ts';
import type { BuildStep, Vcs, VcsState, Workspace } from '../ports/vcs.ts';
import { actionOfKind, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Effects } from './effects.ts';
import { lookAtBase } from './moved-base.ts';
import { requireApprovedName } from './safeguards.ts';

export interface RunCloneOptions {
  /** Asked when the clone is opened first, with the base commit in the mirror. */
  readonly chooseVcs: () => Promise<Vcs>;
  readonly store: RunStore;
  readonly run: Run;
  readonly mirror: Mirror;
  readonly state_dir: string;
  /** The repository as its forge has it now, which may have renamed it. */
  readonly repository: () => Promise<Repository>;
  readonly credential: () => Promise<GitCredential | null>;
  readonly effects: Effects;
}

/**
 * The clone of one run and what it is built from. Both can be deleted at any time: the mirror is fetched again, the approved
 * tree is made again from the patch artifact, the clone is built again from the steps that succeeded.
 */
export function runClone({
  chooseVcs,
  store,
  run,
  mirror,
  state_dir,
  repository,
  credential,
  effects,
}: RunCloneOptions): Clone {
  const { run_id } = run;
  const { target, patch } = run.plan!;
  const { base_commit, base_branch, push_url } = target;
  const workspace: Workspace = {
    run_id,
    clone_dir: join(state_dir, 'clones', run_id),
    mirror_dir: mirror.dir,
    base_commit,
    base_branch,
    push_url,
  };
  const tool = once(async () => {
    const vcs = await chooseVcs();
    return { vcs, ...(await vcs.version()) };
  });
  const ensureTree = once(makeTree);
  let opened = once(openClone);
  /** The clone as this process left it; null when it must be looked at. */
  let latest: VcsState | null = null;

  async function makeTree(): Promise<void> {
    const { tree } = target;
    const wanted = tree === null ? [base_commit] : [base_commit, tree];
    let { pinned, present } = await mirror.holdings(run_id, wanted);
    if (!present.has(base_commit)) {
      await mirror.update((await repository()).push_url, await credential());
      ({ pinned, present } = await mirror.holdings(run_id, wanted));
    }
    if (!present.has(base_commit)) {
      throw new Conflict(
        'base_unreachable',
        `base commit ${base_commit} is not to be had from ${push_url} any more; plan the issue again`,
      );
    }
    if (pinned !== base_commit) await mirror.pin(run_id, base_commit);
    if (tree === null || patch === null || present.has(tree)) return;
    const made = await applyPatchToTree(mirror.dir, base_commit, await store.artifact(run_id, patch));
    if (made !== tree) {
      throw new Conflict('tree_differs', `the patch makes tree ${made}; approved was ${tree}`);
    }
  }

  /** Opens the clone, making it again from the steps that succeeded when it is gone. */
  async function openClone(): Promise<VcsState> {
    await ensureTree();
    const { vcs, warning } = await tool();
    let state = await vcs.open(workspace);
    const now = await store.read(run_id);
    const done = finishedSteps(now);
    const lost = done.length > 0 && !holds(await vcs.inspect(workspace, target.branch), done);
    if (lost) {
      await rm(workspace.clone_dir, { recursive: true, force: true });
      state = await vcs.open(workspace);
    }
    if (now.workspace === null || lost) {
      const data = { vcs: await facts(state), clone_dir: workspace.clone_dir, warning };
      await store.append(run_id, () => [{ type: 'workspace_opened', data }]);
    }
    if (lost) for (const step of done) state = await vcs.build(workspace, step);
    latest = state;
    return state;
  }

  /** True if the clone holds the results of the steps that succeeded; a deleted or half rebuilt one does not. */
  function holds(state: VcsState, done: readonly BuildStep[]): boolean {
    if (state.commit === null) return false;
    return done.every(({ kind }) => kind === 'create_branch') || state.tree === target.tree;
  }

  async function facts({ operation_id, change_id, commit, tree }: VcsState): Promise<VcsFacts> {
    const { vcs, version } = await tool();
    return { kind: vcs.kind, version, operation_id, change_id, commit, tree };
  }

  /** The tool, for what changes the clone: what was known of it holds no longer. */
  async function changing(): Promise<Vcs> {
    await opened();
    const { vcs } = await tool();
    latest = null;
    return vcs;
  }

  async function state(): Promise<VcsState> {
    await opened();
    const { vcs } = await tool();
    latest = await vcs.inspect(workspace, target.branch);
    return latest;
  }

  return {
    dir: workspace.clone_dir,
    mirrorDir: mirror.dir,
    ensureTree,
    open: () => opened(),
    state,
    facts,
    async operation() {
      await opened();
      return (latest ?? (await state())).operation_id;
    },
    async build(step) {
      const vcs = await changing();
      latest = await vcs.build(workspace, step);
      return facts(latest);
    },
    async restore(operation) {
      const vcs = await changing();
      try {
        await vcs.restore(workspace, operation);
      } catch {
        // The clone does not know the operation; it holds nothing that cannot be made again.
        await rm(workspace.clone_dir, { recursive: true, force: true });
        opened = once(openClone);
        await opened();
      }
    },
    async publish(branch, commit, expected) {
      const vcs = await changing();
      // The forge is asked right before: another repository may have the address by now.
      requireApprovedName(target, await repository());
      const push = { branch, commit, expected, credential: await credential() };
      return effects.run('push', async (permit) => {
        permit.require();
        return vcs.publish(workspace, push, effects.lost);
      });
    },
    async unpublish(branch, commit) {
      const { vcs } = await tool();
      const now = await repository();
      const push = { branch, commit, expected: commit, credential: await credential() };
      return effects.run('unpublish', async (permit) => {
        permit.require();
        return vcs.unpublish({ ...workspace, push_url: now.push_url }, push, effects.lost);
      });
    },
    remoteBranch: async (branch) => remoteBranch((await repository()).push_url, branch, await credential()),
    changedSince: async () => (await lookAtBase(run, mirror, await repository(), await credential())).files,
  };
}

function finishedSteps(run: Run): BuildStep[] {
  return actionKinds.flatMap((kind) => {
    const { buildStep } = actionType(kind);
    const action = actionOfKind(run, kind);
    if (buildStep === null || action?.state !== 'succeeded' || action.intent === null) return [];
    return [buildStep(action.definition, action.intent)];
  });
}
