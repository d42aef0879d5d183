import { exitCodes } from '#kit/errors.ts';
import { approvalEnd } from '../approval/progress.ts';
import {
  type ActionState,
  deadActions,
  isOpen,
  type JudgedAction,
  type JudgedRun,
  waitsAmong,
} from './run.ts';

interface Sorted {
  /** Actions that an execution would try now. */
  readonly ready: readonly JudgedAction[];
  /** Actions that a safeguard refused and would refuse again. */
  readonly stuck: readonly JudgedAction[];
  /** Actions that need an approval: they have none, or it no longer counts. */
  readonly waiting: readonly JudgedAction[];
}

/** Sorts the actions of a run that have not succeeded; `dead` names actions that no longer can. */
export function whatIsOpen(
  run: Pick<JudgedRun, 'actions'>,
  now: Date,
): Sorted & { dead: ReadonlySet<string> } {
  const dead = deadActions(run.actions);
  const alive = run.actions.filter(({ definition }) => !dead.has(definition.action_id));
  return { dead, ...sorted(alive, now) };
}

/** Leaves out actions whose approval is unknown, and actions that depend on them or on a stuck action. */
function sorted(actions: readonly JudgedAction[], now: Date): Sorted {
  const found = { ready: [] as JudgedAction[], stuck: [] as JudgedAction[], waiting: [] as JudgedAction[] };
  const closed = new Set<string>();
  const runs = new Set<string>();
  for (const action of actions) {
    const { action_id, depends_on } = action.definition;
    const { state } = action;
    const close = (): void => void closed.add(action_id);
    if (state === 'succeeded') runs.add(action_id);
    else if (depends_on.some((id) => closed.has(id))) close();
    else if (isOpen(action) && needsDecision(action, now)) found.waiting.push(action);
    else if (isUnread(action)) close();
    else if (state === 'refused' && !mayWorkLater(action)) {
      close();
      found.stuck.push(action);
    } else if (state !== 'undone' && depends_on.every((id) => runs.has(id))) {
      runs.add(action_id);
      found.ready.push(action);
    }
  }
  return found;
}

/** Actions that wait for a decision, as approvals count now; `waitsOf` goes by the record. */
export function waitsNow(run: JudgedRun, now: Date): ReturnType<typeof waitsAmong> {
  const dead = deadActions(run.actions);
  const waiting = run.actions.filter(
    (action) => isOpen(action) && needsDecision(action, now) && !dead.has(action.definition.action_id),
  );
  return waitsAmong(run, waiting);
}

export function isExpired(action: ActionState, now: Date): boolean {
  const end = approvalEnd(action);
  return end !== null && Date.parse(end) <= now.getTime();
}

/** True if the action has no approval, or if its approval no longer counts. */
export function needsDecision(action: JudgedAction, now: Date): boolean {
  const { approval, approval_problem } = action;
  if (approval === 'rejected') return false;
  if (approval === 'required' || isExpired(action, now)) return true;
  return approval_problem !== null && !isUnread(action);
}

/** True if the action was approved and must be approved again before it runs. */
export function isLapsed(action: JudgedAction, now: Date): boolean {
  return action.approval === 'approved' && isOpen(action) && needsDecision(action, now);
}

/** Code of the problem that approvals cannot be judged, because the current configuration cannot be read. */
export const unread = 'approvals_unread';

/** True if it is unknown whether the approval counts. Only open actions can be unknown. */
export function isUnread({ approval_problem }: JudgedAction): boolean {
  return approval_problem?.code === unread;
}

/** Outcome codes of actions whose approval did not count. They can run once it counts. */
const lapsed: readonly string[] = [
  'approval_expired',
  'approver_revoked',
  'approval_rules_changed',
  'standing_changed',
  'signature_required',
  'signature_invalid',
];

/** True if a retry may succeed: a failure stopped the action and not a rule, or its approval did not count then. */
function mayWorkLater({ outcome }: ActionState): boolean {
  const exitCode = outcome?.facts.exit_code;
  return (
    lapsed.includes(outcome?.code ?? '') ||
    exitCode === exitCodes.failed ||
    exitCode === exitCodes.unavailable
  );
}
