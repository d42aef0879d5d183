import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Conflict } from '#kit/errors.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import { actionKinds, type VcsFacts } from '../action.ts';
import type { Clone } from '../actions/executor.ts';
import { actionType } from '../actions/registry.ts';
import type { Mirror } from '../git/mirror.ts';
import { applyPatchToTree } from '../git/patch.ts';
import { remoteBranch } from '../git/remote.ts';
import type { BuildStep, PublishOutcome, Vcs, VcsState, Workspace } from '../ports/vcs.ts';
import { actionOfKind, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { lookAtBase } from './moved-base.ts';

interface Tool {
  readonly vcs: Vcs;
  readonly version: string;
  readonly warning: string | null;
}

/**
 * The clone of one run and what it is built from. Both can be deleted at any time: the mirror is fetched again, the approved
 * tree is made again from the patch artifact, the clone is built again from the steps that succeeded.
 */
export class RunClone implements Clone {
  readonly #chooseVcs: () => Promise<Vcs>;
  readonly #store: RunStore;
  readonly #run: Run;
  readonly #mirror: Mirror;
  readonly #credential: () => Promise<GitCredential | null>;
  readonly #workspace: Workspace;
  #chosen: Promise<Tool> | null = null;
  #opened: Promise<VcsState> | null = null;
  /** The clone as this process left it; null when it must be looked at. */
  #latest: VcsState | null = null;
  #tree: Promise<void> | null = null;

  constructor(options: {
    /** Asked when the clone is opened first, with the base commit in the mirror. */
    readonly vcs: () => Promise<Vcs>;
    readonly store: RunStore;
    readonly run: Run;
    readonly mirror: Mirror;
    readonly state_dir: string;
    readonly credential: () => Promise<GitCredential | null>;
  }) {
    const { run } = options;
    const { target } = run.plan!;
    this.#chooseVcs = options.vcs;
    this.#store = options.store;
    this.#run = run;
    this.#mirror = options.mirror;
    this.#credential = options.credential;
    this.#workspace = {
      run_id: run.run_id,
      clone_dir: join(options.state_dir, 'clones', run.run_id),
      mirror_dir: options.mirror.dir,
      base_commit: target.base_commit,
      base_branch: target.base_branch,
      push_url: target.push_url,
    };
  }

  get dir(): string {
    return this.#workspace.clone_dir;
  }

  get mirrorDir(): string {
    return this.#mirror.dir;
  }

  /** Base commit and approved tree are in the mirror. @throws Conflict (`base_unreachable`, `tree_differs`) */
  ensureTree(): Promise<void> {
    this.#tree ??= this.#ensureTree().catch((error) => {
      this.#tree = null;
      throw error;
    });
    return this.#tree;
  }

  async #ensureTree(): Promise<void> {
    const { target, patch } = this.#run.plan!;
    let { pinned, present } = await this.#holdings();
    if (!present.has(target.base_commit)) {
      await this.#mirror.update(this.#workspace.push_url, await this.#credential());
      ({ pinned, present } = await this.#holdings());
    }
    if (!present.has(target.base_commit)) {
      throw new Conflict(
        'base_unreachable',
        `base commit ${target.base_commit} is not to be had from ${this.#workspace.push_url} any more; plan the issue again`,
      );
    }
    if (pinned !== target.base_commit) await this.#mirror.pin(this.#run.run_id, target.base_commit);
    if (target.tree === null || patch === null || present.has(target.tree)) return;
    const bytes = await this.#store.artifact(this.#run.run_id, patch);
    const tree = await applyPatchToTree(this.#mirror.dir, target.base_commit, bytes);
    if (tree !== target.tree) {
      throw new Conflict('tree_differs', `the patch makes tree ${tree}; approved was ${target.tree}`);
    }
  }

  #holdings() {
    const { base_commit, tree } = this.#run.plan!.target;
    return this.#mirror.holdings(this.#run.run_id, tree === null ? [base_commit] : [base_commit, tree]);
  }

  /** Opens the clone, making it again from the steps that succeeded when it is gone. */
  open(): Promise<VcsState> {
    this.#opened ??= this.#open().catch((error) => {
      this.#opened = null;
      throw error;
    });
    return this.#opened;
  }

  async #open(): Promise<VcsState> {
    await this.ensureTree();
    const { vcs, warning } = await this.#tool();
    let state = await vcs.open(this.#workspace);
    const run = await this.#store.read(this.#run.run_id);
    const done = this.#finishedSteps(run);
    const lost = done.length > 0 && !(await this.#holds(done));
    if (lost) {
      await rm(this.#workspace.clone_dir, { recursive: true, force: true });
      state = await vcs.open(this.#workspace);
    }
    if (run.workspace === null || lost) {
      const facts = await this.facts(state);
      await this.#store.append(this.#run.run_id, () => [
        { type: 'workspace_opened', data: { vcs: facts, clone_dir: this.#workspace.clone_dir, warning } },
      ]);
    }
    if (lost) for (const step of done) state = await vcs.build(this.#workspace, step);
    this.#latest = state;
    return state;
  }

  /** True if the clone holds the results of the steps that succeeded; a deleted or half rebuilt one does not. */
  async #holds(done: readonly BuildStep[]): Promise<boolean> {
    const { branch, tree } = this.#run.plan!.target;
    const { vcs } = await this.#tool();
    const state = await vcs.inspect(this.#workspace, branch);
    if (state.branch_commit === null) return false;
    return done.every(({ kind }) => kind === 'create_branch') || state.tree === tree;
  }

  /** The adapter, chosen when the base commit is there to look at. */
  #tool(): Promise<Tool> {
    this.#chosen ??= this.#choose();
    return this.#chosen;
  }

  async #choose(): Promise<Tool> {
    const vcs = await this.#chooseVcs();
    return { vcs, ...(await vcs.version()) };
  }

  #finishedSteps(run: Run): BuildStep[] {
    return actionKinds.flatMap((kind) => {
      const { buildStep } = actionType(kind);
      const action = actionOfKind(run, kind);
      if (buildStep === null || action?.state !== 'succeeded' || action.intent === null) return [];
      return [buildStep(action.definition, action.intent)];
    });
  }

  async state(): Promise<VcsState> {
    await this.open();
    const { vcs } = await this.#tool();
    this.#latest = await vcs.inspect(this.#workspace, this.#run.plan!.target.branch);
    return this.#latest;
  }

  /** The operation that the clone is at. Nobody else changes it while the executor's lease is held. */
  async operation(): Promise<string> {
    await this.open();
    return (this.#latest ?? (await this.state())).operation_id;
  }

  async build(step: BuildStep): Promise<VcsFacts> {
    await this.open();
    const { vcs } = await this.#tool();
    this.#latest = null;
    this.#latest = await vcs.build(this.#workspace, step);
    return this.facts(this.#latest);
  }

  /**
   * Goes back to an operation of this clone. Where the clone does not know it, the clone is made again from the steps that
   * succeeded: it holds nothing that cannot be made again.
   */
  async restore(operation: string): Promise<void> {
    await this.open();
    const { vcs } = await this.#tool();
    this.#latest = null;
    try {
      await vcs.restore(this.#workspace, operation);
    } catch {
      await this.#discard();
      await this.open();
    }
  }

  async #discard(): Promise<void> {
    this.#opened = null;
    this.#latest = null;
    await rm(this.#workspace.clone_dir, { recursive: true, force: true });
  }

  async publish(branch: string, commit: string, expected: string | null): Promise<PublishOutcome> {
    await this.open();
    const { vcs } = await this.#tool();
    this.#latest = null;
    return vcs.publish(this.#workspace, {
      branch,
      commit,
      expected,
      credential: await this.#credential(),
    });
  }

  async unpublish(branch: string, commit: string): Promise<PublishOutcome> {
    const { vcs } = await this.#tool();
    return vcs.unpublish(this.#workspace, {
      branch,
      commit,
      expected: commit,
      credential: await this.#credential(),
    });
  }

  async remoteBranch(branch: string): Promise<string | null> {
    return remoteBranch(this.#workspace.push_url, branch, await this.#credential());
  }

  async facts(state: VcsState): Promise<VcsFacts> {
    const { vcs, version } = await this.#tool();
    const { operation_id, change_id, commit, tree } = state;
    return { kind: vcs.kind, version, operation_id, change_id, commit, tree };
  }

  /** Files of the change that moved on the base branch since the plan was made. */
  async changedSince(): Promise<string[]> {
    return (await lookAtBase(this.#run, this.#mirror, await this.#credential())).files;
  }
}
