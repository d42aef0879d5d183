import type { ActionKind, ActionOf, Slot } from '../action.ts';
import type { Account } from '../planning/forge.ts';
import type { DataOf, VcsFacts } from '../runs/event.ts';
import type { ActionState, Run } from '../runs/run.ts';

/** One action about to run, with the run as it stands now. */
export interface Step<K extends ActionKind = ActionKind> {
  readonly run: Run;
  readonly action: ActionOf<K>;
  readonly state: ActionState;
  /** The person's checkout; null when none was given. */
  readonly repo_dir: string | null;
  /** Checks are made, no effect happens; what earlier actions would have left is not there. */
  readonly rehearsal: boolean;
  /** Aborted by cancel. Only what can stop cleanly listens: a started effect on a forge finishes. */
  readonly signal: AbortSignal;
  readonly progress: (message: string) => void;
}

export type Intent = DataOf<'action_intent'>;

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
  /** It did not happen, or doing it again is the same: the recorded bytes may be used once more. */
  | { readonly kind: 'again' }
  /** Somebody else's state is in the way; a person has to look. */
  | { readonly kind: 'conflict'; readonly message: string }
  /** Cannot be told; the action stays unknown. */
  | { readonly kind: 'ask'; readonly message: string };

export interface UndoPreview {
  readonly effect: 'undo' | 'keep' | 'nothing';
  readonly message: string;
}

export interface UndoResult {
  readonly state: 'undone' | 'kept' | 'failed';
  readonly message: string;
}

/**
 * How one kind of action is done, found out about and taken back. It sees only the ports that it was made with.
 */
export interface ActionExecutor<K extends ActionKind = ActionKind> {
  /** Begins early, beside the actions before it, what takes long and has no effect. What goes wrong is told in its turn. */
  getReady?(step: Step<K>): void;
  /** After the last action of an execution: lets go of what was got ready. */
  letGo?(): Promise<void>;
  /** How long the effect is waited for by itself when it is asked to wait (`retryAfter`). */
  readonly patience_ms?: number;
  /** Safeguards, without any effect. @throws Refused, Conflict, Unavailable */
  check(step: Step<K>): Promise<void>;
  render(step: Step<K>): Promise<Rendered>;
  /** Acts. Unavailable means that the outcome is not known. */
  perform(step: Step<K>, intent: Intent): Promise<Effect>;
  /** Called after a crash or an unknown outcome, before anything is tried again. */
  reconcile(step: Step<K>, intent: Intent): Promise<Reconciliation>;
  /** What undoing would do now. @throws Refused when undoing would destroy what others did */
  previewUndo(step: Step<K>): Promise<UndoPreview>;
  /** Idempotent: called again when a crash cut it off. */
  undo(step: Step<K>): Promise<UndoResult>;
}

export type Executors = { readonly [K in ActionKind]: ActionExecutor<K> };

/** The executor of an action, with the two kinds tied together for the compiler. */
export function executorFor<K extends ActionKind>(
  executors: Executors,
  action: { readonly kind: K },
): ActionExecutor<K> {
  return executors[action.kind as K] as unknown as ActionExecutor<K>;
}

export function outcomeFact(run: Run, kind: ActionKind, fact: string): unknown {
  const action = run.actions.find(
    ({ definition, state }) => definition.kind === kind && state === 'succeeded',
  );
  return action?.outcome?.facts[fact];
}

export function actionOfKind<K extends ActionKind>(
  run: Run,
  kind: K,
): (ActionState & { definition: ActionOf<K> }) | undefined {
  return run.actions.find((action) => action.definition.kind === kind) as
    | (ActionState & { definition: ActionOf<K> })
    | undefined;
}

export type SlotValues = Readonly<Partial<Record<Slot, string>>>;
