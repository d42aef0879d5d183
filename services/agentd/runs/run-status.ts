import type { ActionState, Run, RunStatus } from './run.ts';

/**
 * Where a run stands between two executions, by its actions alone:
 *
 * - `completed`: every action succeeded. A rehearsal's success is none.
 * - `partially_completed`: some succeeded.
 * - `failed`: none succeeded, and one failed, is unknown or was undone; or everything is decided and what was
 *   approved has been refused.
 * - `rejected`: every action is rejected.
 * - `awaiting_approval`: nothing happened yet, and a decision or an execution can come.
 */
export function settledStatus(actions: readonly ActionState[]): RunStatus {
  const succeeded = actions.filter(({ state }) => state === 'succeeded').length;
  if (actions.length > 0 && succeeded === actions.length) return 'completed';
  if (succeeded > 0) return 'partially_completed';
  if (actions.some(({ state }) => state === 'failed' || state === 'unknown' || state === 'undone'))
    return 'failed';
  if (actions.length > 0 && actions.every(({ approval }) => approval === 'rejected')) return 'rejected';
  const approved = actions.filter(({ approval }) => approval === 'approved');
  const undecided = actions.some(({ approval }) => approval === 'required');
  const refused = approved.some(({ state }) => state === 'refused' || state === 'blocked');
  return refused && !undecided ? 'failed' : 'awaiting_approval';
}

/** Whether the log says that somebody works on the run; true only while the executor's lease is held. */
export function isActive(status: RunStatus): boolean {
  return status === 'planning' || status === 'executing';
}

/** Whether its planning was never finished, or failed at something that may have passed. */
export function canBePlanned({ plan, status, failure }: Run): boolean {
  if (plan !== null) return false;
  return status === 'planning' || status === 'interrupted' || failure?.retryable === true;
}

/**
 * The run as a reader should see it: what the log calls planning or executing is `interrupted` when nobody living does it, and
 * an action that was running then has an unknown outcome.
 */
export function asSeen(run: Run, executorLives: boolean): Run {
  if (executorLives || !isActive(run.status)) return run;
  return { ...run, status: 'interrupted', actions: runningBecomeUnknown(run.actions) };
}

export function runningBecomeUnknown(actions: readonly ActionState[]): readonly ActionState[] {
  if (!actions.some(({ state }) => state === 'running')) return actions;
  return actions.map((action) => (action.state === 'running' ? { ...action, state: 'unknown' } : action));
}

/** Whether something of the run can still be published. */
export function willPublish({ plan, status, actions }: Run): boolean {
  if (plan === null || ['rejected', 'undone', 'cancelled', 'superseded'].includes(status)) return false;
  const push = actions.find(({ definition }) => definition.kind === 'push_branch');
  return push !== undefined && push.state !== 'succeeded' && push.state !== 'undone';
}
