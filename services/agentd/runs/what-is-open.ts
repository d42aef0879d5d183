import { exitCodes } from '#kit/errors.ts';
import { approvalEnd } from '../approval/progress.ts';
import { type ActionState, deadActions, isOpen, type Run } from './run.ts';

interface Sorted {
  /** An execution would try these now. */
  readonly ready: readonly ActionState[];
  /** A safeguard refused these, and would again. */
  readonly stuck: readonly ActionState[];
  /** An approval brings these on: none yet, or one that has expired. */
  readonly waiting: readonly ActionState[];
}

/** Where the actions of a run stand that have not succeeded, and which of them cannot any more. */
export function whatIsOpen(run: Pick<Run, 'actions'>, now: Date): Sorted & { dead: ReadonlySet<string> } {
  const dead = deadActions(run.actions);
  const alive = run.actions.filter(({ definition }) => !dead.has(definition.action_id));
  return { dead, ...sorted(alive, now) };
}

/** What builds on a stuck action is in none of the three. */
function sorted(actions: readonly ActionState[], now: Date): Sorted {
  const found = { ready: [] as ActionState[], stuck: [] as ActionState[], waiting: [] as ActionState[] };
  const closed = new Set<string>();
  const runs = new Set<string>();
  for (const action of actions) {
    const { action_id, depends_on } = action.definition;
    const { state } = action;
    const close = (): void => void closed.add(action_id);
    if (state === 'succeeded') runs.add(action_id);
    else if (depends_on.some((id) => closed.has(id))) close();
    else if (isOpen(action) && needsDecision(action, now)) found.waiting.push(action);
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

export function isExpired(action: ActionState, now: Date): boolean {
  const end = approvalEnd(action);
  return end !== null && Date.parse(end) <= now.getTime();
}

/** Nobody approved it, or what approved it does not count any more: an approval brings it on. */
export function needsDecision(action: ActionState, now: Date): boolean {
  const { approval, outcome } = action;
  if (approval === 'rejected') return false;
  return approval === 'required' || isExpired(action, now) || lapsed.includes(outcome?.code ?? '');
}

/** Whether it was approved, and must be again before it runs. */
export function isLapsed(action: ActionState, now: Date): boolean {
  return action.approval === 'approved' && isOpen(action) && needsDecision(action, now);
}

const lapsed: readonly string[] = [
  'approver_revoked',
  'approval_rules_changed',
  'standing_changed',
  'signature_required',
  'signature_invalid',
];

/** It was no rule that stopped it: a disk was full, or a service did not answer. */
function mayWorkLater({ outcome }: ActionState): boolean {
  const exitCode = outcome?.facts.exit_code;
  return exitCode === exitCodes.failed || exitCode === exitCodes.unavailable;
}
