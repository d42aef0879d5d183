import { CoreError } from '#kit/errors.ts';
import type { Approval, Judgement } from '../action.ts';
import type { ApprovalsNow, ReadApprovals } from '../approval/current.ts';
import { approvalProgress } from '../approval/progress.ts';
import { type ActionState, isOpen, type JudgedRun, nowFor, type Run } from '../runs/run.ts';
import { unread } from '../runs/what-is-open.ts';
import { countedNow, problemNow } from './approvals-now.ts';
import { approvalProblem } from './decisions.ts';

/**
 * Judges each approval of a run as an execution would now. Every view uses this judgement.
 * @param read called only if an action that has not started has a decision
 */
export function judgedRun(run: Run, read: ReadApprovals): JudgedRun {
  const at = nowFor(run);
  const current = onceRead(() => {
    const now = read();
    return { ...now, signatures: eachOnce(now.signatures) };
  });
  return {
    ...run,
    actions: run.actions.map((action) => ({ ...action, ...judgementOf(run, action, at, current) })),
  };
}

function judgementOf(run: Run, action: ActionState, at: string, read: ReadApprovals): Judgement {
  const asRecorded = {
    approval_problem: null,
    progress: approvalProgress(action, at),
    counted: action.decisions,
  };
  if (!isOpen(action) || action.decisions.length === 0 || action.approval === 'rejected') return asRecorded;
  const recorded = action.approval === 'approved' ? approvalProblem(action, at) : null;
  let current: ApprovalsNow;
  try {
    current = read();
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    const message = `whether the approval still counts is unknown: ${error.message}`;
    return { ...asRecorded, approval_problem: { code: unread, message } };
  }
  const problem = action.approval === 'approved' ? problemNow(run, action, at, () => current) : null;
  return { approval_problem: recorded ?? problem, ...countedNow(run, action, current, at) };
}

/** Checks each signature only once, because a check starts a program. */
function eachOnce(signatures: ApprovalsNow['signatures']): ApprovalsNow['signatures'] {
  const known = new Map<Approval, ReturnType<typeof signatures.problemOf>>();
  return {
    problemOf(subject, approval, now) {
      const before = known.get(approval);
      if (before !== undefined) return before;
      const problem = signatures.problemOf(subject, approval, now);
      known.set(approval, problem);
      return problem;
    },
  };
}

/** Reads only once, also if reading fails. */
export function onceRead(read: ReadApprovals): ReadApprovals {
  let found: (() => ApprovalsNow) | null = null;
  return () => {
    if (found === null) {
      try {
        const current = read();
        found = () => current;
      } catch (error) {
        found = () => {
          throw error;
        };
      }
    }
    return found();
  };
}
