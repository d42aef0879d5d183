import { guarded } from '#kit/callbacks.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, codeOf, isRetryable, messageOf } from '#kit/errors.ts';
import { type MaskedSecret, MaskTally, type SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { Influence, SandboxTerms, ValidationPlan } from '../action.ts';
import type { Watch } from '../agent.ts';
import { codeOwnersOf } from '../approval/code-owners.ts';
import type { ReadApprovals } from '../approval/current.ts';
import { planTerms, standingNotices, termsNotices } from '../approval/plan-terms.ts';
import { touchedPaths } from '../approval/terms.ts';
import type { Mirror } from '../git/mirror.ts';
import type { ContextUse, NewEvent, PlanFacts } from '../runs/event.ts';
import { maskedEvents, nowFor, type Run } from '../runs/run.ts';
import { executorLease, issueLease, patientLease } from '../runs/run-store.ts';
import { diskError } from '../runs/storage-error.ts';
import { contextRepository } from './context.ts';
import { type DraftPorts, draftPlan, rightsNotices } from './draft-plan.ts';
import {
  earlierRejections,
  lookAtEarlier,
  requireNeedOfPlan,
  requireNotCancelled,
  supersedeEarlier,
} from './earlier-runs.ts';
import {
  actionHistory,
  type GatheredContext,
  type GatheringPorts,
  gatherContext,
  judgedPassages,
  noHistory,
} from './gather-context.ts';
import {
  issueInfluence,
  noteInfluence,
  passageInfluence,
  rejectionInfluences,
  unknownStandings,
} from './influences.ts';
import type { Planner, PlanningInput, PlanningNote, Proposal } from './planner.ts';
import { readSources, type SourcePorts, type Sources } from './read-sources.ts';
import type { Role } from './roles.ts';
import type { GitScratchCopy } from './scratch-copy.ts';
import { storedAgentWork } from './stored-agent-work.ts';
import { storedConversation } from './stored-conversation.ts';

/** What planning is made of. None of it can write to a repository or a forge. */
export interface PlanningPorts extends SourcePorts, DraftPorts, GatheringPorts {
  readonly secrets: SecretFinder;
  readonly approvals: ReadApprovals;
  readonly scratch: (mirror: Mirror, run: Run, baseCommit: string) => Promise<GitScratchCopy>;
  /** Scratch copies are made again from what is recorded; none outlives its planning. */
  readonly discardScratch: (runId: string) => Promise<void>;
  readonly planner: (run: Run, role: Role) => Planner;
  readonly role: (name: string) => Role;
  readonly findValidation: (
    sources: Sources,
    forge: string,
    signal: AbortSignal,
  ) => Promise<ValidationPlan | null>;
  /** The sandbox that validations use here; null where there is none, with the reason. */
  readonly sandbox: () => Promise<{ readonly terms: SandboxTerms | null; readonly reason: string }>;
  readonly prepare: (
    gitDir: string,
    base: string,
    plan: ValidationPlan,
    watch: { readonly signal: AbortSignal; readonly onStep: (text: string) => void },
  ) => Promise<readonly { readonly source: string; readonly target: string }[]>;
  readonly validate: (
    gitDir: string,
    base: string,
    tree: string,
    plan: ValidationPlan,
    signal: AbortSignal,
  ) => Promise<{ passed: boolean; output: string; masked: readonly MaskedSecret[] }>;
}

/**
 * From an issue to sealed proposals. Each part of it is durable before the next begins, so that an interrupted planning goes on
 * where it was.
 */
export class PlanIssue {
  readonly #ports: PlanningPorts;

  constructor(ports: PlanningPorts) {
    this.#ports = ports;
  }

  /** Plans a run that was created and is not sealed yet. */
  async plan(runId: string, watch: Watch): Promise<Run> {
    const { store } = this.#ports;
    const lease = await store.lease(executorLease(runId));
    const cancel = new AbortController();
    const polling = setInterval(
      guarded('planning', () => this.#lookForCancel(runId, cancel)),
      250,
    );
    const signal = AbortSignal.any([watch.signal, lease.lost, cancel.signal]);
    try {
      await store.append(runId, (run) => {
        checkPlannable(run);
        return [{ type: 'planning_started', data: { pid: process.pid } }];
      });
      crashPoint('plan.started');
      return await this.#work(runId, { progress: this.#masking(watch.progress), signal });
    } catch (thrown) {
      const error = diskError(thrown);
      await this.#recordFailure(runId, error, signal);
      throw error;
    } finally {
      clearInterval(polling);
      try {
        await this.#ports.discardScratch(runId);
        await store.writeViews(runId);
      } finally {
        await lease.release();
      }
    }
  }

  #masking(progress: Watch['progress']): Watch['progress'] {
    const { secrets } = this.#ports;
    return (update) => progress({ ...update, message: secrets.mask(update.message) });
  }

  async #lookForCancel(runId: string, cancel: AbortController): Promise<void> {
    const run = await this.#ports.store.read(runId).catch(() => null);
    if (run?.cancelling) cancel.abort();
  }

  /** A cut-off planning stays resumable; a failed one says why. */
  async #recordFailure(runId: string, error: unknown, signal: AbortSignal): Promise<void> {
    const { store, secrets } = this.#ports;
    const message = secrets.mask(messageOf(error));
    const retryable = isRetryable(error);
    await store.append(runId, (run): NewEvent[] => {
      if (run.plan !== null || run.status === 'cancelled') return [];
      if (run.cancelling) return [{ type: 'run_cancelled', data: { message: 'cancelled while planning' } }];
      if (signal.aborted) return [];
      return [{ type: 'planning_failed', data: { code: codeOf(error), message, retryable } }];
    });
  }

  async #work(runId: string, watch: Watch): Promise<Run> {
    const { store, secrets } = this.#ports;
    const tally = new MaskTally(secrets);
    const sources = await readSources(this.#ports, tally, await store.read(runId), watch);
    const run = await store.read(runId);
    tally.add(run.masked);
    const forge = this.#ports.forge(run.request.forge);
    const alreadyThere = await requireNeedOfPlan(store, forge, run, sources, watch);
    const role = this.#ports.role(run.request.role);
    const { mirror, base_commit, base, repository } = sources;
    const scratch = await this.#ports.scratch(mirror, run, base_commit);
    const validation = await this.#ports.findValidation(sources, forge.name, watch.signal);
    const sandbox = await this.#ports.sandbox();
    // A smoke test leaves nothing in graph and memory, and asks no model for embeddings.
    const context = run.request.forge === smokeForge.name ? null : this.#ports.context;
    const knowledge = await gatherContext({ ...this.#ports, context }, tally, run, sources, watch);
    const rejections = (await earlierRejections(store, run)).map((rejected) => ({
      ...rejected,
      reason: tally.mask(rejected.reason, 'an earlier rejection'),
    }));
    const planner = this.#ports.planner(run, role);
    const status = (message: string) => watch.progress({ step: 'planner', state: 'started', message });
    status(`${planner.name} planner is at work`);
    const input: PlanningInput = {
      run_id: runId,
      repository,
      issue: sources.issue,
      comments: sources.comments,
      note: noteOf(run),
      role,
      scratch,
      base_commit,
      context: knowledge.passages,
      judge: (passages) => judgedPassages(store, run, passages),
      rejections,
      validation,
      validate: this.#validator(sources, scratch, validation, sandbox.terms, tally),
      prepare:
        validation === null || sandbox.terms === null
          ? null
          : (signal) => this.#ports.prepare(mirror.dir, base_commit, validation, { signal, onStep: status }),
      secrets: tally,
      conversation: await storedConversation(store, run, planner, tally),
      agent_record: storedAgentWork(store, run, { scratch, base_commit }, this.#ports, tally),
      progress: (message) => watch.progress({ step: 'planner', state: 'info', message }),
      status,
      signal: watch.signal,
    };
    const proposal = await proposed(planner, input, watch);
    watch.signal.throwIfAborted();
    crashPoint('plan.proposed');
    const draft = await draftPlan(
      this.#ports,
      {
        run,
        role,
        sources,
        scratch,
        influences: influencesOf(sources, proposal, knowledge, rejections, noteOf(run)),
        rejections,
        reaches_out: planner.reaches_out ?? [],
        validation,
        sandbox: sandbox.terms,
        history: async (files) =>
          knowledge.answered
            ? actionHistory(
                context,
                { repository: contextRepository(run.request), role: role.name, files },
                watch.signal,
              )
            : noHistory,
        signal: watch.signal,
      },
      proposal,
    );
    watch.signal.throwIfAborted();
    const paths = touchedPaths(
      draft.actions.flatMap((action) => (action.kind === 'apply_patch' ? action.params.files : [])),
    );
    const current = this.#ports.approvals();
    const change = { actions: draft.actions, paths, now: nowFor(run) };
    const approval_terms = await planTerms(current, {
      ...change,
      request: run.request,
      codeOwners: () => codeOwnersOf(forge.kind, base.read, paths),
    });
    const notices = [
      ...termsNotices(approval_terms, draft.actions),
      ...standingNotices(current, change),
      ...alreadyThere,
      ...rightsNotices(sources.repository, draft.actions),
      ...unknownStandings(sources),
      ...knowledge.notices,
      ...reachNotices(planner),
      ...(sandbox.terms === null ? [sandbox.reason] : []),
      ...draft.notices,
    ];
    // Of two plans of an issue that end at once, one sees the other; an approval comes before or after.
    const lease = await patientLease(store, issueLease(run.request), watch.signal);
    try {
      requireNotCancelled(await store.read(runId));
      const earlier = await lookAtEarlier(store, run);
      const influences = [...(draft.actions[0]?.influences ?? [])];
      const plan: PlanFacts = {
        target: draft.target,
        planner: planner.name,
        stop_reason: 'submitted',
        title: draft.title,
        explanation: await store.putArtifact(runId, draft.explanation),
        influences,
        patch: draft.patch,
        patch_by: draft.patch_by,
        files_of_context: influences.filter(({ kind }) => kind === 'file').length,
        memories: influences.filter(({ kind }) => kind === 'memory').length,
        context: knowledge.answered ? knowledge.passages.map(contextUse) : undefined,
        notices: [...earlier.notices, ...notices],
        validation,
        checks: [...draft.checks],
        sealed: draft.actions.map(({ action_id, digest }) => ({ action_id, digest })),
        supersedes: earlier.superseded.length === 0 ? undefined : [...earlier.superseded],
        approval_terms,
      };
      crashPoint('plan.before_seal');
      const sealed = await store.append(runId, (now): NewEvent[] => {
        requireNotCancelled(now);
        return [
          ...maskedEvents(now, tally.found),
          ...draft.actions.map((action): NewEvent => ({ type: 'action_proposed', data: { action } })),
          { type: 'plan_sealed', data: { plan } },
          ...(earlier.newer === null
            ? []
            : [{ type: 'run_superseded' as const, data: { by_run: earlier.newer } }]),
        ];
      });
      crashPoint('plan.sealed');
      await supersedeEarlier(store, sealed);
      return sealed;
    } finally {
      await lease.release();
    }
  }

  #validator(
    sources: Sources,
    scratch: GitScratchCopy,
    plan: ValidationPlan | null,
    sandbox: SandboxTerms | null,
    tally: MaskTally,
  ): PlanningInput['validate'] {
    if (plan === null || sandbox === null) return null;
    return async (signal) => {
      const { tree } = await scratch.diff();
      const { masked, ...outcome } = await this.#ports.validate(
        scratch.gitDir,
        sources.base_commit,
        tree,
        plan,
        signal,
      );
      tally.add(masked);
      return outcome;
    };
  }
}

function checkPlannable(run: Run): void {
  if (run.plan !== null)
    throw new Conflict('run_planned', `run ${run.run_id} is planned already; it is ${run.status}`);
  if (run.status === 'cancelled')
    throw new Conflict('run_cancelled', `run ${run.run_id} was cancelled; plan the issue again`);
}

function noteOf({ request: { note, requested_by } }: Run): PlanningNote | null {
  return note === undefined ? null : { by: requested_by, ...note };
}

/** What led to the proposal, each source once; what outsiders wrote is marked. */
function influencesOf(
  { repository, issue }: Sources,
  proposal: Proposal,
  { passages }: GatheredContext,
  rejections: PlanningInput['rejections'],
  note: PlanningNote | null,
): Influence[] {
  const list: Influence[] = [
    issueInfluence(repository, issue),
    ...proposal.influences,
    ...passages.map(passageInfluence),
    ...rejectionInfluences(rejections),
    ...(note === null ? [] : [noteInfluence(note)]),
  ];
  return [...new Map(list.map((influence) => [`${influence.kind} ${influence.source}`, influence])).values()];
}

function reachNotices({ reaches_out = [] }: Planner): string[] {
  if (reaches_out.length === 0) return [];
  return [
    `the agent could reach or was given, beside its model: ${reaches_out.join(', ')}; what it read of the repository may have left this machine`,
  ];
}

function contextUse({ layer, source, title, why, score }: GatheredContext['passages'][number]): ContextUse {
  return { layer, source, title, why, score };
}

async function proposed(planner: Planner, input: PlanningInput, { progress }: Watch): Promise<Proposal> {
  try {
    const proposal = await planner.propose(input);
    const message = proposal.kind === 'change' ? proposal.title : 'a comment and no change';
    progress({ step: 'planner', state: 'succeeded', message });
    return proposal;
  } catch (error) {
    progress({ step: 'planner', state: 'failed', message: codeOf(error) });
    throw error;
  } finally {
    await planner.close?.();
  }
}
