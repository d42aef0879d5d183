import type { Backlog } from '#kit/contracts/health.ts';
import type { ChangedIssues } from '#kit/contracts/issues.ts';
import type { PlanBody } from '#kit/contracts/plan.ts';
import type { RecordState } from '#kit/contracts/run.ts';
import type { checkStates, pullRequestStates } from '#kit/contracts/vocabulary.ts';
import type { ApprovalState, Gate } from './action.ts';
import type { UndoPreview } from './actions/executor.ts';
import type { ChangeQuery, IssuePage, IssueQuery } from './planning/issues.ts';
import type { RunEvent } from './runs/event.ts';
import type { Run } from './runs/run.ts';
import type { RunPage, RunQuery } from './runs/run-store.ts';

/** The use cases of core-agentd. Command line and HTTP routes are two faces of this one interface. */
export interface Agent {
  /** Makes a run, or finds the one made with the same idempotency key, and plans it to its end. */
  planIssue(request: PlanRequest, watch: Watch): Promise<Run>;
  /**
   * The first half of `planIssue`, for callers that answer before the planning ends; `plan` is the second.
   * @param mayCreate called before a run is made; throws to refuse
   */
  createRun(request: PlanRequest, signal: AbortSignal, mayCreate?: () => void): Promise<NamedRun>;
  plan(runId: string, watch: Watch): Promise<Run>;
  runs(query: RunQuery): Promise<RunPage>;
  countRuns(): Promise<number>;
  /** Full id or unique prefix. */
  run(idOrPrefix: string): Promise<Run>;
  /** The same, after its remote was asked whether the base branch moved, where something of it may still be published. */
  runWithBase(idOrPrefix: string): Promise<Run>;
  /** Issues of a repository as its forge has them, each with its newest run. */
  issues(query: IssueQuery, signal: AbortSignal): Promise<IssuePage>;
  /** What changed on a forge since a time. */
  changedIssues(query: ChangeQuery, signal: AbortSignal): Promise<ChangedIssues>;
  events(runId: string, afterSeq: number): Promise<RunEvent[]>;
  /** The patch of the whole run, bytes as they will be applied; empty when only a comment is proposed. */
  diff(runId: string): Promise<Uint8Array>;
  /** Bytes of one artifact that the run names, for example a validation log. */
  artifact(runId: string, digest: string): Promise<Uint8Array>;
  decide(request: DecisionRequest): Promise<Run>;
  execute(request: ExecutionRequest, watch: Watch): Promise<Run>;
  resume(request: { readonly run_id: string; readonly by: Person }, watch: Watch): Promise<Run>;
  /** What `undo` would do, in order, without doing it. */
  undoPlan(runId: string): Promise<readonly UndoStep[]>;
  undo(request: { readonly run_id: string; readonly by: Person }, watch: Watch): Promise<Run>;
  cancel(request: {
    readonly run_id: string;
    readonly by: Person;
    readonly reason: string | null;
  }): Promise<Run>;
  /** Asks the forges for the state of pull requests, and delivers to the context service what it does not have yet. */
  sync(request: SyncRequest, watch: Watch): Promise<SyncReport>;
  /** Delivers what waits for the context service; null where none is configured. */
  deliverPending(signal: AbortSignal): Promise<DeliveryReport | null>;
  /** How much waits for the context service; null where none is configured. */
  contextBacklog(): Promise<Backlog | null>;
  /** Full id or unique prefix; needs no readable record. */
  verify(idOrPrefix: string): Promise<Verification>;
  /** Full id or unique prefix; needs no readable record. */
  record(idOrPrefix: string): Promise<RecordState>;
  /** Lets a run whose record was cut go on with what is left of it; decisions about what has not started are made again. */
  recoverRecord(request: RecoveryRequest): Promise<Run>;
  prune(request: PruneRequest): Promise<PruneResult>;
  recovery(runId: string): Promise<Readonly<Record<string, unknown>>>;
  capabilities(): Promise<Readonly<Record<string, unknown>>>;
  /** The planner's tools with their JSON schemas. */
  tools(): Promise<
    readonly { readonly name: string; readonly description: string; readonly parameters: unknown }[]
  >;
}

/** Who acts: the name of their token, and the scopes that it carries. */
export interface Person {
  readonly name: string;
  readonly scopes: readonly string[];
}

/** How a long use case shows what it does, and how it is stopped. */
export interface Watch {
  /** One line for people: what is being done now. `action_id` when it belongs to one action. */
  readonly progress: (update: ProgressUpdate) => void;
  readonly signal: AbortSignal;
}

export interface ProgressUpdate {
  readonly step: string;
  readonly state: 'started' | 'output' | 'succeeded' | 'failed' | 'refused' | 'blocked' | 'unknown' | 'info';
  readonly message: string;
  readonly action_id?: string;
  /** Milliseconds, when something ended. */
  readonly duration_ms?: number;
}

/** What a planning is asked for with, by HTTP and on the command line. */
export interface PlanRequest
  extends Pick<PlanBody, 'owner' | 'repo' | 'number'>,
    Partial<Omit<PlanBody, 'owner' | 'repo' | 'number'>> {
  readonly idempotency_key?: string;
  readonly by: Person;
}

/** A run, and whether this request made it. */
export interface NamedRun {
  readonly run: Run;
  readonly created: boolean;
}

export interface DecisionRequest {
  readonly run_id: string;
  readonly decision: 'approve' | 'reject';
  /** Each action with the digest that the person saw. All or none is recorded. */
  readonly actions: readonly {
    readonly action_id: string;
    readonly digest: string;
    /** Refuses when the action's approval is another by now. */
    readonly seen_approval?: ApprovalState;
  }[];
  readonly reason: string | null;
  readonly claimed_approver: string | null;
  readonly by: Person;
}

export interface ExecutionRequest {
  readonly run_id: string;
  /** The person's checkout; null for a run that only comments. */
  readonly repo_dir: string | null;
  /** action_ids; null selects every action. */
  readonly actions: readonly string[] | null;
  readonly dry_run: boolean;
  readonly by: Person;
}

export interface UndoStep extends UndoPreview {
  readonly action_id: string;
  readonly kind: string;
}

export interface SyncRequest {
  /** null: of every repository. */
  readonly repository: { readonly owner: string; readonly repo: string } | null;
  /** Delivers everything to the context service again. */
  readonly full?: boolean;
  readonly by: Person;
}

/** One pull request of a run, as the forge has it now or was seen to have it last. */
export interface PullRequestReport {
  readonly run_id: string;
  readonly forge: string;
  readonly owner: string;
  readonly repo: string;
  readonly number: number;
  readonly url: string | null;
  /** null where the forge never answered. */
  readonly state: (typeof pullRequestStates)[number] | null;
  readonly checks: (typeof checkStates)[number] | null;
  readonly ended_at: string | null;
  /** The state that was known before. */
  readonly before: PullRequestReport['state'];
  readonly news: boolean;
  /** Why the forge could not be asked; `gone`: it has no such pull request any more. */
  readonly problem: { readonly code: string; readonly message: string; readonly gone: boolean } | null;
}

/** Result of one round of deliveries to the context service. */
export interface DeliveryReport {
  /** Runs that core-context knows up to their last event now, and did not before. */
  readonly delivered: readonly string[];
  /** Runs that wait for it. */
  readonly waiting: readonly string[];
  /** Why they wait; null when none does. */
  readonly reason: string | null;
  /** Runs that it will not take as they are. */
  readonly refused: readonly { readonly run_id: string; readonly reason: string }[];
}

export interface SyncReport {
  /** Newest run first. */
  readonly pull_requests: readonly PullRequestReport[];
  /** null where no context service is configured. */
  readonly context: DeliveryReport | null;
}

export interface FoundProblem {
  readonly where: string;
  readonly what: string;
}

/** What an offline check of a run found; `problems` is empty when all holds. */
export interface Verification {
  readonly run_id: string;
  readonly events: number;
  readonly head: string;
  readonly artifacts: number;
  readonly problems: readonly FoundProblem[];
}

export interface RecoveryRequest {
  readonly run_id: string;
  readonly reason: string;
  readonly by: Person;
}

export interface PruneRequest {
  /** RFC 3339; runs whose last event is older go. */
  readonly before: string;
  /** `clones` removes working copies alone; `runs` leaves a tombstone of each run. */
  readonly what: 'clones' | 'runs';
  readonly dry_run: boolean;
}

export interface PruneResult {
  readonly clones: readonly string[];
  readonly runs: readonly string[];
  /** Left alone, with the reason: still running, or never finished. */
  readonly kept: readonly { readonly run_id: string; readonly reason: string }[];
  readonly bytes: number;
}

/** Ways to name actions on a command line. */
export interface ActionSelection {
  readonly actions: readonly string[];
  readonly gate?: Gate;
  readonly all?: boolean;
  readonly up_to?: number;
}
