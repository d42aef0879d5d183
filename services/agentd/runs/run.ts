import type { RunStatus, RunSummary } from '#kit/contracts/run.ts';
import { risks, runStatuses } from '#kit/contracts/vocabulary.ts';
import type { MaskedSecret } from '#kit/redaction/secret-finder.ts';
import type { ActionKind, Gate, Judgement, StateOf } from '../action.ts';
import type { ActionDefinition, ActionOf } from '../actions/registry.ts';
import type { DataOf, IssueFacts, NewEvent, PlanFacts, RunRequest, TokenRotated, Usage } from './event.ts';

export type { RunStatus, RunSummary };
export { runStatuses };

/** Current state of a proposed action. */
export type ActionState = StateOf<ActionDefinition>;

/** Action with the judgement of its approval by the current configuration. */
export type JudgedAction = ActionState & Judgement;

/** Run as views show it; see `judgedRun`. */
export interface JudgedRun extends Run {
  readonly actions: readonly JudgedAction[];
}

/** The first action of a kind. */
export function actionOfKind<K extends ActionKind>(
  run: Pick<Run, 'actions'>,
  kind: K,
): StateOf<ActionOf<K>> | undefined {
  return run.actions.find(({ definition }) => definition.kind === kind) as StateOf<ActionOf<K>> | undefined;
}

/** The commit, while it is approved and has not succeeded. */
export function approvedCommit(run: Pick<Run, 'actions'>): ActionOf<'commit'> | undefined {
  const commit = actionOfKind(run, 'commit');
  return commit?.approval === 'approved' && commit.state !== 'succeeded' ? commit.definition : undefined;
}

/** The later of the clock and the run's last event: a clock set back never revives an expired approval. */
export function nowFor({ updated_at }: Pick<Run, 'updated_at'>): string {
  const clock = new Date().toISOString();
  return clock > updated_at ? clock : updated_at;
}

/** A run folded from its events. Immutable; a newer fold is a new object. */
export interface Run {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly request: RunRequest;
  readonly created_at: string;
  readonly updated_at: string;
  readonly head: { readonly seq: number; readonly hash: string };
  /** Recoveries of the run after events of its record were lost. */
  readonly recoveries: readonly (DataOf<'record_recovered'> & { readonly at: string })[];
  readonly source: DataOf<'source_read'> | null;
  readonly issue: IssueFacts | null;
  readonly plan: PlanFacts | null;
  readonly actions: readonly ActionState[];
  /** Secrets that were masked in what the run read, each once for each place. */
  readonly masked: DataOf<'secrets_masked'>['found'];
  /** Artifact of the prompt that the turns answer; null before there is one. */
  readonly prompt: string | null;
  readonly turns: readonly { readonly content: string; readonly tool_calls: readonly string[] }[];
  readonly usage: Usage | null;
  /** Coding agent that plans or planned the run; null if no agent was started. */
  readonly agent: AgentWork | null;
  readonly failure: {
    readonly code: string;
    readonly message: string;
    /** True if the same planning can succeed later; left out if that is unknown. */
    readonly retryable?: boolean | undefined;
  } | null;
  /** The execution that runs or ran last. */
  readonly execution:
    | (DataOf<'execution_started'> & { readonly finished: boolean; readonly message: string | null })
    | null;
  readonly workspace: DataOf<'workspace_opened'> | null;
  readonly undo:
    | (DataOf<'undo_started'> & {
        readonly finished: boolean;
        /** Every step has ended: what was taken back, and what stays because it cannot be. */
        readonly complete: boolean;
        readonly results: readonly DataOf<'undo_result'>[];
        readonly intents: readonly DataOf<'undo_intent'>[];
      })
    | null;
  /** Rotations of tokens whose decisions still counted afterwards. */
  readonly rotations: readonly TokenRotated[];
  /** Pull request as last seen at the forge; null before the first look. */
  readonly pull_request: (DataOf<'pull_request_seen'> & { readonly at: string }) | null;
  /** Last request to stop, with its author and reason; null if there is none. */
  readonly cancel: DataOf<'cancel_requested'> | null;
  /** The newer run of the issue that took its place; null while none did. */
  readonly superseded_by: string | null;
  /** Files of the change that moved on the base branch since the plan was made, at the last look; null if none had. */
  readonly base_moved: DataOf<'base_seen'> | null;
  /** Changes of the issue since it was planned, at the last look; null if there were none. */
  readonly issue_changed: string | null;
  /** The name of its repository when the forge was asked last; null while that is the planned one. */
  readonly renamed: DataOf<'repository_seen'> | null;
  /** Asked to stop and not yet stopped. */
  readonly cancelling: boolean;
}

/** Work of a coding agent in all its attempts. */
export interface AgentWork {
  /** Start of the last attempt. */
  readonly started: DataOf<'agent_started'>;
  readonly program: DataOf<'agent_progressed'>['program'];
  /** Time of all attempts before the last, in s. */
  readonly seconds_before: number;
  /** Recorded time of the last attempt, in s. */
  readonly seconds: number;
  readonly turns: number | null;
  readonly ended: DataOf<'agent_ended'> | null;
  readonly read_back: DataOf<'agent_read_back'> | null;
  /** Artifacts with activity and messages of all attempts, in order. */
  readonly transcript: readonly string[];
}

/** Patch artifact that a stopped agent left and that no plan proposes; null if there is none. */
export function draftOf({ plan, agent }: Pick<Run, 'plan' | 'agent'>): string | null {
  const left = agent?.read_back ?? null;
  return plan === null && left !== null && !left.submitted ? left.patch : null;
}

export function summaryOf(run: Run): RunSummary {
  const { forge, owner, repo, number, role } = run.request;
  const levels = run.actions.map(({ definition }) => risks.indexOf(definition.risk));
  return {
    run_id: run.run_id,
    status: run.status,
    forge,
    owner,
    repo,
    number,
    title: run.issue?.title ?? null,
    role,
    created_at: run.created_at,
    updated_at: run.updated_at,
    highest_risk: levels.length === 0 ? null : risks[Math.max(...levels)]!,
    ...waitsOf(run),
    actions: run.actions.length,
  };
}

interface Waits {
  /** Number of actions that wait for a decision. */
  readonly waiting: number;
  /** Gate of the first of them; null if no action waits. */
  readonly waits_for: Gate | null;
}

/** Counts by the record. Views use `waitsNow`, which judges approvals as they count now. */
export function waitsOf(run: Pick<Run, 'status' | 'undo' | 'actions'>): Waits {
  return waitsAmong(run, waitingActions(run.actions));
}

export function waitsAmong(run: Pick<Run, 'status' | 'undo'>, actions: readonly ActionState[]): Waits {
  const closed = ['cancelled', 'undone', 'superseded', 'planning'].includes(run.status) || run.undo !== null;
  const waiting = closed ? [] : actions;
  return { waiting: waiting.length, waits_for: waiting[0]?.definition.gate ?? null };
}

/** Undecided actions that can still succeed. */
function waitingActions(actions: readonly ActionState[]): readonly ActionState[] {
  const dead = deadActions(actions);
  return actions.filter(
    (action) => action.approval === 'required' && isOpen(action) && !dead.has(action.definition.action_id),
  );
}

/** Actions that may have left something behind, the last first: also those whose outcome is not known. */
export function mayHaveEffects({ actions }: Pick<Run, 'actions'>): ActionState[] {
  return actions
    .filter(({ state, intent }) => intent !== null && state !== 'undone' && state !== 'pending')
    .toReversed();
}

/** True if the effect began and its outcome is unknown. Core reconciles it first, regardless of later decisions or refusals. */
export function isUnsettled({ intent, state, finished_at }: ActionState): boolean {
  return intent !== null && finished_at === null && state !== 'undone';
}

/** Has not started, so that it can still be decided. */
export function isOpen({ state }: ActionState): boolean {
  return state === 'pending' || state === 'refused' || state === 'blocked';
}

/** Ids of actions that cannot succeed in this run: rejected, or a validation that failed, and all that builds on them. */
export function deadActions(actions: readonly ActionState[]): ReadonlySet<string> {
  const dead = new Set<string>();
  for (const { definition, approval, state, outcome } of actions) {
    const ended = (approval === 'rejected' && state !== 'succeeded') || outcome?.code === 'validation_failed';
    if (ended || definition.depends_on.some((id) => dead.has(id))) dead.add(definition.action_id);
  }
  return dead;
}

/** Rejected action that prevents this action; null if there is none. */
export function rejectedBelow(action: ActionState, actions: readonly ActionState[]): ActionState | null {
  for (const id of action.definition.depends_on) {
    const below = actions.find(({ definition }) => definition.action_id === id);
    if (below === undefined || below.state === 'succeeded') continue;
    const rejected = below.approval === 'rejected' ? below : rejectedBelow(below, actions);
    if (rejected !== null) return rejected;
  }
  return null;
}

/**
 * Status of a run between two executions, by its actions only:
 *
 * - `completed`: every action succeeded; dry runs do not count.
 * - `awaiting_approval`: nothing went wrong, and an action that can still run waits for a decision, or was approved and
 *   waits for its execution.
 * - `partially_completed`: some succeeded, and what was approved beside them did not, or no action waits.
 * - `failed`: none succeeded, and one failed, is unknown or was undone; or everything is decided and what was
 *   approved has been refused.
 * - `rejected`: nothing happened, and every action is rejected or builds on one that is.
 */
export function settledStatus(actions: readonly ActionState[]): RunStatus {
  const succeeded = actions.filter(({ state }) => state === 'succeeded').length;
  if (actions.length > 0 && succeeded === actions.length) return 'completed';
  const dead = deadActions(actions);
  if (succeeded > 0) {
    const left = actions.filter(({ approval, state }) => approval === 'approved' && state !== 'succeeded');
    const untouched = left.every(({ state }) => state === 'pending');
    const ready = left.some(({ definition }) => !dead.has(definition.action_id));
    const waits = ready || waitingActions(actions).length > 0;
    return waits && untouched ? 'awaiting_approval' : 'partially_completed';
  }
  if (actions.some(({ state }) => state === 'failed' || state === 'unknown' || state === 'undone'))
    return 'failed';
  if (actions.length > 0 && actions.every(({ definition }) => dead.has(definition.action_id)))
    return 'rejected';
  const refused = actions.some(
    ({ approval, state }) => approval === 'approved' && (state === 'refused' || state === 'blocked'),
  );
  return refused && !actions.some(({ approval }) => approval === 'required') ? 'failed' : 'awaiting_approval';
}

/** True if a process works on the run according to its log. This is valid only while the executor's lease is held. */
export function isActive(status: RunStatus): boolean {
  return status === 'planning' || status === 'executing';
}

/** True if it ended before there was a plan. */
export function isFailedPlanning({ status, actions }: Pick<RunSummary, 'status' | 'actions'>): boolean {
  return actions === 0 && (status === 'failed' || status === 'cancelled');
}

/** True if its planning was cut off, or failed for a reason that may have passed. */
export function canBePlanned({ plan, status, failure }: Run): boolean {
  if (plan !== null) return false;
  return status === 'planning' || status === 'interrupted' || failure?.retryable === true;
}

/**
 * Run as a reader should see it. A run in planning or execution is `interrupted` if no live process works on it. Its running actions then
 * have an unknown outcome.
 */
export function asSeen(run: Run, executorLives: boolean): Run {
  if (executorLives || !isActive(run.status)) return run;
  return { ...run, status: 'interrupted', actions: runningBecomeUnknown(run.actions) };
}

export function runningBecomeUnknown(actions: readonly ActionState[]): readonly ActionState[] {
  if (!actions.some(({ state }) => state === 'running')) return actions;
  return actions.map((action) => (action.state === 'running' ? { ...action, state: 'unknown' } : action));
}

/** True if something of the run can still be published. */
export function willPublish({ plan, status, undo, actions }: Run): boolean {
  if (plan === null || undo !== null || ['rejected', 'cancelled', 'superseded'].includes(status))
    return false;
  const push = actions.find(({ definition }) => definition.kind === 'push_branch');
  return push !== undefined && push.state !== 'succeeded' && push.state !== 'undone';
}

/** Event about masked secrets that the record does not have yet; none if there are none. */
export function maskedEvents(run: Pick<Run, 'masked'>, found: readonly MaskedSecret[]): NewEvent[] {
  const known = new Set(run.masked.map(keyOf));
  const fresh = found.filter((one) => !known.has(keyOf(one)));
  return fresh.length === 0 ? [] : [{ type: 'secrets_masked', data: { found: fresh } }];
}

function keyOf({ kind, fingerprint, place }: MaskedSecret): string {
  return JSON.stringify([kind, fingerprint, place]);
}
