import type { Folders } from '#kit/folders.ts';
import type { ApprovedValidation } from './actions/executor.ts';
import { planOutdated } from './actions/kind.ts';
import { type Executors, executorsFor } from './actions/registry.ts';
import type { Watch } from './agent.ts';
import type { ReadApprovals } from './approval/current.ts';
import { statementDigest } from './attestation/statement.ts';
import { lookAtIssue } from './execution/changed-issue.ts';
import { checkCheckout, placeOf } from './execution/delivery.ts';
import { deliveryUnder, type Effects, writerUnder } from './execution/effects.ts';
import { type ExecuteOptions, type ExecutionParts, executeApproved } from './execution/execute-approved.ts';
import { type BaseSeen, lookAtBase } from './execution/moved-base.ts';
import { runClone } from './execution/run-clone.ts';
import { requireSameForge, safeguardsFor } from './execution/safeguards.ts';
import { previewUndo, undoRun } from './execution/undo-run.ts';
import { withdrawal } from './execution/withdrawal.ts';
import type { ConfiguredForge } from './forges/configured-forge.ts';
import { openMirror } from './git/mirror.ts';
import type { Policy } from './policy.ts';
import type { Vcs } from './ports/vcs.ts';
import type { DataOf } from './runs/event.ts';
import { maskedEvents, type Run } from './runs/run.ts';
import type { RunStore } from './runs/run-store.ts';
import type { Validation } from './validation/validation.ts';
import { approvedVcs } from './vcs/registry.ts';

interface ExecutionOptions {
  readonly folders: Pick<Folders, 'state'>;
  readonly checkouts: readonly string[];
  readonly store: RunStore;
  readonly policy: Policy;
  readonly approvals: ReadApprovals;
  readonly approvalsFresh: () => Promise<void>;
  /** @throws Failed (`forge_not_configured`) */
  forge(name: string): ConfiguredForge;
  openApproved(approved: ApprovedValidation): Promise<Validation>;
}

/** Puts execution and undo together; planning needs none of it. */
export function composeExecution({
  folders,
  checkouts,
  store,
  policy,
  approvals,
  approvalsFresh,
  forge: forgeNamed,
  openApproved,
}: ExecutionOptions) {
  async function executorsOf(run: Run, effects: Effects): Promise<Executors> {
    const { target } = run.plan!;
    const forge = forgeNamed(target.forge);
    requireSameForge(forge, target);
    const clone = runClone({
      chooseVcs: () => vcsFor(run),
      store,
      run,
      mirror: await openMirror({ stateDir: folders.state, ...target }),
      state_dir: folders.state,
      repository: () => forge.repository(target),
      credential: () => forge.gitCredential(),
      effects,
    });
    return executorsFor({
      forge,
      writer: writerUnder(effects, forge),
      late: { deleteComment: (ref, number, id) => forge.deleteComment(ref, number, id) },
      quietMs: () => effects.quietMs(),
      clone,
      checkout: { check: checkCheckout, place: placeOf, withdrawal, ...deliveryUnder(effects) },
      safeguards: safeguardsFor(forge, policy, store),
      redBaseAllowed: policy.allow_red_base,
      record: {
        putArtifact: (content) => store.putArtifact(run.run_id, content),
        statementDigest: (seq) => statementDigest(store, run.run_id, seq),
        addMasked: async (found) => void (await store.append(run.run_id, (now) => maskedEvents(now, found))),
      },
      validation: openApproved,
    });
  }

  async function issueOf(run: Run, signal: AbortSignal): Promise<string | null> {
    const { target } = run.plan!;
    const forge = forgeNamed(target.forge);
    requireSameForge(forge, target);
    return lookAtIssue(forge, run, signal);
  }

  async function baseOf(run: Run, signal: AbortSignal): Promise<BaseSeen> {
    const { target } = run.plan!;
    const forge = forgeNamed(target.forge);
    requireSameForge(forge, target);
    const mirror = await openMirror({ stateDir: folders.state, ...target });
    const repository = await forge.repository(target, signal);
    return lookAtBase(run, mirror, repository, await forge.gitCredential(), signal);
  }

  async function nameOf(run: Run, signal?: AbortSignal): Promise<DataOf<'repository_seen'>> {
    const { target } = run.plan!;
    const forge = forgeNamed(target.forge);
    requireSameForge(forge, target);
    const { owner, repo } = await forge.repository(target, signal);
    return { owner, repo };
  }

  const parts: ExecutionParts = {
    store,
    executors: executorsOf,
    lookAtBase: baseOf,
    lookAtIssue: issueOf,
    lookAtName: nameOf,
    checkouts,
    approvals,
    approvalsFresh,
  };
  return {
    execute: (options: ExecuteOptions, watch: Watch) => executeApproved(parts, options, watch),
    /** Where the base branch of a planned run is now. */
    lookAtBase: baseOf,
    /** The name of a planned run's repository now. */
    lookAtName: nameOf,
    previewUndo: (runId: string) => previewUndo(parts, runId),
    undo: (request: Parameters<typeof undoRun>[1], watch: Watch) => undoRun(parts, request, watch),
  };
}

/** The tool that was approved; for the undo of a run that an older version planned, the one that built it. */
function vcsFor({ run_id, plan, workspace }: Run): Promise<Vcs> {
  const kind = plan?.target.vcs ?? workspace?.vcs.kind;
  if (kind === undefined) throw planOutdated(run_id);
  return approvedVcs(kind);
}
