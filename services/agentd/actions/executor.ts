import type { MaskedSecret } from '#kit/redaction/secret-finder.ts';
import type {
  ActionFacts,
  ActionIntent,
  ActionKind,
  CheckoutPlace,
  StateOf,
  Target,
  ValidationPlan,
  VcsFacts,
} from '../action.ts';
import type { Account, Forge } from '../ports/forge.ts';
import type { ForgeWriter } from '../ports/forge-writer.ts';
import type { BuildStep, PublishOutcome, VcsState } from '../ports/vcs.ts';
import type { Validation } from '../validation/validation.ts';

type AnyDefinition = ActionFacts & { readonly kind: ActionKind };

/** What an executor sees of its run. */
export interface RunSoFar {
  readonly run_id: string;
  readonly head: { readonly seq: number; readonly hash: string };
  readonly actions: readonly StateOf<AnyDefinition>[];
  readonly workspace: { readonly vcs: VcsFacts } | null;
  /** What became of the issue since it was planned; null where it was as before. */
  readonly issue_changed: string | null;
}

/** One action about to run, with the run as it stands now. */
export interface Step<Definition> {
  readonly run: RunSoFar;
  readonly action: Definition;
  readonly state: StateOf<AnyDefinition>;
  /** The person's checkout; null: there is none. undefined: nobody said whether there is one. */
  readonly repo_dir: string | null | undefined;
  /** Checks are made, no effect happens; what earlier actions would have left is not there. */
  readonly dry_run: boolean;
  /** Aborted by cancel. Only what can stop cleanly listens: a started effect on a forge finishes. */
  readonly signal: AbortSignal;
  readonly progress: (message: string) => void;
}

/** What the intent event fixes before the effect. */
export interface Rendered {
  /** The bytes with filled slots, reused on a retry. */
  readonly bytes: Readonly<Record<string, unknown>>;
  /** The forge's clock, for effects on a forge. */
  readonly forge_time: string | null;
  /** Who will act on the forge. */
  readonly account?: Account;
  /** VCS operation to go back to when the effect is cut off. */
  readonly operation_before: string | null;
}

export interface Effect {
  readonly succeeded: boolean;
  readonly code?: string;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly vcs: VcsFacts | null;
}

/** What became of an intent without a result. */
export type Reconciliation =
  | { readonly kind: 'done'; readonly effect: Effect }
  /** It did not happen, or repeating it has the same effect: the recorded bytes may be used once more. */
  | { readonly kind: 'again' }
  /** Somebody else's state is in the way; a person has to look. */
  | { readonly kind: 'conflict'; readonly message: string }
  /** Undecidable; the action stays unknown. */
  | { readonly kind: 'ask'; readonly message: string };

/** What undoing an action means as things are now: it will be taken back, cannot be, or there is nothing to take back. */
export type Undoing =
  | { readonly effect: 'keep' | 'nothing'; readonly message: string }
  /** `act` is called again when a crash cut it off. */
  | { readonly effect: 'undo'; readonly message: string; readonly act: () => Promise<UndoResult> };

export interface UndoResult {
  readonly state: 'undone' | 'kept' | 'failed';
  readonly message: string;
}

/** How an action of one kind is done, reconciled and taken back. It sees only the ports that it was made with. */
export interface ActionExecutor<Definition> {
  /** Starts early what takes long and has no effect. Its errors are reported by `perform`. */
  prepare?(step: Step<Definition>): void;
  /** After the last action of an execution: releases what was prepared. */
  dispose?(): Promise<void>;
  /** How long an execution waits by itself when the forge asks it to (`retryAfter`). */
  readonly max_wait_ms?: number;
  /** Safeguards, without any effect. @throws Refused, Conflict, Unavailable */
  check(step: Step<Definition>): Promise<void>;
  render(step: Step<Definition>): Promise<Rendered>;
  /** The checkout that `perform` will reach, noted in the intent. */
  deliversTo?(step: Step<Definition>): Promise<CheckoutPlace | undefined>;
  /** Acts. Unavailable means that the outcome is not known. */
  perform(step: Step<Definition>, intent: ActionIntent): Promise<Effect>;
  /** Called after a crash or an unknown outcome, before anything is tried again. */
  reconcile(step: Step<Definition>, intent: ActionIntent): Promise<Reconciliation>;
  /** @throws Refused when undoing would destroy what others did */
  undoing(step: Step<Definition>): Promise<Undoing>;
}

/** What executors act with. The kinds of action import none of its implementations, so planning cannot reach one. */
export interface ExecutionPorts {
  readonly forge: Forge;
  readonly writer: ForgeWriter;
  /** Takes back what reached the forge although the lease was lost meanwhile; needs none. */
  readonly late: Pick<ForgeWriter, 'deleteComment'>;
  /** Milliseconds, at the least, since an effect of the run last left a process. */
  quietMs(): number;
  readonly clone: Clone;
  readonly checkout: Checkout;
  readonly safeguards: Safeguards;
  readonly record: RunRecord;
  /** Whether the policy still lets failures that the base has too pass. */
  readonly redBaseAllowed: boolean;
  /** What validates as it was approved. */
  validation(approved: ApprovedValidation): Promise<Validation>;
}

/** What a validation was approved with. */
export interface ApprovedValidation {
  readonly run_id: string;
  readonly target: Target;
  readonly sandbox: string;
  /** Missing in plans of older versions, as `prepare_environment`. */
  readonly tool_paths?: readonly string[] | undefined;
  readonly prepare_environment?: Readonly<Record<string, string>> | undefined;
  readonly plan: ValidationPlan;
}

/** Our own clone of the repository, in which one run builds its change. */
export interface Clone {
  readonly dir: string;
  readonly mirrorDir: string;
  /** Base commit and approved tree are in the mirror. @throws Conflict (`base_unreachable`, `tree_differs`) */
  ensureTree(): Promise<void>;
  open(): Promise<VcsState>;
  state(): Promise<VcsState>;
  /** The operation that the clone is at. */
  operation(): Promise<string>;
  build(step: BuildStep): Promise<VcsFacts>;
  restore(operation: string): Promise<void>;
  /** The commit of a branch on the remote; null while it does not exist. */
  remoteBranch(branch: string): Promise<string | null>;
  /** @param expected commit of the remote branch; null: it must not exist */
  publish(branch: string, commit: string, expected: string | null): Promise<PublishOutcome>;
  unpublish(branch: string, commit: string): Promise<PublishOutcome>;
  facts(state: VcsState): Promise<VcsFacts>;
  /** Files of the change that moved on the base branch since the plan was made. */
  changedSince(): Promise<string[]>;
}

export type Withdrawal = Pick<Undoing, 'effect' | 'message'>;

/** How our own delivered commit is recognised: by its id or, where no result has it, by what it was made from. */
export interface Ours {
  readonly commit: string | null;
  readonly base: string;
  readonly steps: readonly Extract<BuildStep, { kind: 'commit' }>[];
}

/** The person's own checkout, in which one ref is made or deleted. */
export interface Checkout {
  check(repoDir: string, pushUrl: string): Promise<void>;
  /** What is noted of it before a delivery. */
  place(repoDir: string, pushUrl: string): Promise<CheckoutPlace>;
  deliver(repoDir: string, pushUrl: string, cloneDir: string, ref: string, commit: string): Promise<void>;
  /** What `withdraw` would do now. */
  withdrawal(place: CheckoutPlace, pushUrl: string, ref: string): Promise<Withdrawal>;
  withdraw(place: CheckoutPlace, pushUrl: string, ref: string, ours: Ours): Promise<UndoResult>;
}

export interface Safeguards {
  /** No push to a protected branch: by the forge, by configuration, and the default branch always. */
  requireUnprotected(target: Target, branch: string): Promise<void>;
  /** The forge still means the repository that was approved, and sees us as the account that was. */
  requireApprovedPlace(target: Target): Promise<void>;
  /** The validation's artifacts exist, it passed, and it is about exactly this tree. */
  requireValidation(run: RunSoFar, tree: string): Promise<void>;
}

/** What an executor may write into the record of its run, beside its result. */
export interface RunRecord {
  /** @returns the sha256 */
  putArtifact(content: string | Uint8Array): Promise<string>;
  addMasked(found: readonly MaskedSecret[]): Promise<void>;
  /** sha256 of the in-toto statement of the run, as the record said with this event. */
  statementDigest(seq: number): Promise<string>;
}

/** A fact of the first succeeded action of a kind. */
export function outcomeFact(run: RunSoFar, kind: ActionKind, fact: string): unknown {
  const action = run.actions.find(
    ({ definition, state }) => definition.kind === kind && state === 'succeeded',
  );
  return action?.outcome?.facts[fact];
}

/** What a step in our clone fixes before it acts: the operation to come back to. */
export async function renderBuildStep(clone: Clone, bytes: Rendered['bytes'] = {}): Promise<Rendered> {
  return { bytes, forge_time: null, operation_before: await clone.operation() };
}

/** Goes back to before the step, whatever the crash left of it. */
export async function reconcileBuildStep(clone: Clone, intent: ActionIntent): Promise<Reconciliation> {
  if (intent.operation_before !== null) await clone.restore(intent.operation_before);
  return { kind: 'again' };
}
