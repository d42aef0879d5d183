import type { Account } from '#kit/contracts/account.ts';
import type { ApprovalSignature, GivenSignature } from '#kit/contracts/action.ts';
import type { PlanBody } from '#kit/contracts/plan.ts';
import type { checkStates, pullRequestStates } from '#kit/contracts/vocabulary.ts';
import type { ApprovalState, Gate } from './action.ts';
import type { Undoing } from './actions/executor.ts';
import type { JudgedRun, Run } from './runs/run.ts';

/** What the use cases of core-agentd are asked for, and what they report. */

/** Who acts: the name of their token or account, and the scopes that it carries. */
export interface Person {
  readonly name: string;
  readonly scopes: readonly string[];
  /** sha256 of the token's text; left out of an account. */
  readonly token?: string;
  /** At the identity provider that signed them in; left out of a token. */
  readonly providerAccount?: Account;
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
  extends Pick<PlanBody, 'owner' | 'repo'>,
    Partial<Omit<PlanBody, 'owner' | 'repo'>> {
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
    readonly signature?: GivenSignature;
  }[];
  readonly reason: string | null;
  readonly claimed_approver: string | null;
  /** Approves also what builds on a validation that failed. */
  readonly anyway?: boolean;
  readonly by: Person;
}

export interface ExecutionRequest {
  readonly run_id: string;
  /** The person's checkout; null: none, and the forge alone gets the branch. undefined: they are in none and named none. */
  readonly repo_dir: string | null | undefined;
  /** action_ids; null selects every action. */
  readonly actions: readonly string[] | null;
  readonly dry_run: boolean;
  readonly by: Person;
}

/** Changes of runs by people who do not wait for the end of long work: planning, execution and undo go on in the background. */
export interface RunChanges {
  plan(request: PlanRequest): Promise<NamedRun>;
  decide(request: DecisionRequest): Promise<JudgedRun>;
  execute(
    run: Run,
    request: Omit<ExecutionRequest, 'run_id' | 'repo_dir'> & {
      /** Name of a configured working copy; null for none. undefined: none as well, where this host has none of the repository. */
      readonly checkout: string | null | undefined;
    },
  ): Promise<void>;
  resume(runId: string, by: Person): Promise<void>;
  undo(runId: string, by: Person): Promise<void>;
  cancel(runId: string, reason: string | null, by: Person): Promise<void>;
  recover(request: RecoveryRequest): Promise<JudgedRun>;
}

export interface UndoStep extends Pick<Undoing, 'effect' | 'message'> {
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

/** One decision of the record, and what its signature is worth. */
export interface CheckedApproval {
  /** Of the event. */
  readonly seq: number;
  readonly action_id: string;
  readonly decision: 'approve' | 'reject';
  readonly approver: string;
  readonly at: string;
  /** null where it is not signed. */
  readonly signature: Pick<ApprovalSignature, 'principal' | 'key' | 'signed_at'> | null;
  /** Why the signature does not hold; null where it does, or is none. */
  readonly problem: string | null;
}

/** One signed decision, with what others check it by. */
export interface SignedDecision extends Pick<CheckedApproval, 'seq' | 'action_id' | 'decision' | 'approver'> {
  readonly principal: string;
  readonly key: string;
  readonly signed_at: string;
  /** Of `ssh-keygen -Y`. */
  readonly namespace: string;
  /** What is signed. */
  readonly text: string;
  /** Armoured. */
  readonly signature: string;
}

/** What an offline check of a run found; `problems` is empty when all holds. */
export interface Verification {
  readonly run_id: string;
  readonly events: number;
  readonly head: string;
  readonly artifacts: number;
  /** In the order of the record. */
  readonly approvals: readonly CheckedApproval[];
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

/** What `forget-prompts` deleted. */
export interface PromptsForgotten {
  readonly run_id: string;
  readonly artifacts: readonly string[];
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
