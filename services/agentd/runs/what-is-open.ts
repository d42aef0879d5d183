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
  /** An execution would try these now. */
  readonly ready: readonly JudgedAction[];
  /** A safeguard refused these, and would again. */
  readonly stuck: readonly JudgedAction[];
  /** An approval brings these on: none yet, or one that does not count any more. */
  readonly waiting: readonly JudgedAction[];
}

/** Where the actions of a run stand that have not succeeded, and which of them cannot any more. */
export function whatIsOpen(
  run: Pick<JudgedRun, 'actions'>,
  now: Date,
): Sorted & { dead: ReadonlySet<string> } {
  const dead = deadActions(run.actions);
  const alive = run.actions.filter(({ definition }) => !dead.has(definition.action_id));
  return { dead, ...sorted(alive, now) };
}

/** What builds on a stuck action, or on one that may or may not be approved, is in none of the three. */
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

/** What waits for a decision as approvals count now: as `waitsOf` of a record. */
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

/** Nobody approved it, or what approved it does not count any more: an approval brings it on. */
export function needsDecision(action: JudgedAction, now: Date): boolean {
  const { approval, approval_problem } = action;
  if (approval === 'rejected') return false;
  if (approval === 'required' || isExpired(action, now)) return true;
  return approval_problem !== null && !isUnread(action);
}

/** Whether it was approved, and must be again before it runs. */
export function isLapsed(action: JudgedAction, now: Date): boolean {
  return action.approval === 'approved' && isOpen(action) && needsDecision(action, now);
}

/** Code of a judgement that could not be made: what is configured now cannot be read. */
export const unread = 'approvals_unread';

/** Whether nobody can tell if its approval counts; of open actions alone. */
export function isUnread({ approval_problem }: JudgedAction): boolean {
  return approval_problem?.code === unread;
}

/** Outcomes of actions whose approval did not count; they run once it does. */
const lapsed: readonly string[] = [
  'approval_expired',
  'approver_revoked',
  'approval_rules_changed',
  'standing_changed',
  'signature_required',
  'signature_invalid',
];

/** It was no rule that stopped it: a disk was full, or a service did not answer. Or it was the approval, which counts now. */
function mayWorkLater({ outcome }: ActionState): boolean {
  const exitCode = outcome?.facts.exit_code;
  return (
    lapsed.includes(outcome?.code ?? '') ||
    exitCode === exitCodes.failed ||
    exitCode === exitCodes.unavailable
  );
}
