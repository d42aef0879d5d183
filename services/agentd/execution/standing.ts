import { crashPoint } from '#kit/crash-point.ts';
import type { Approval } from '../action.ts';
import { authorOf, type ReadApprovals } from '../approval/current.ts';
import type { NewEvent } from '../runs/event.ts';
import { nowFor, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { problemNow } from './approvals-now.ts';

/**
 * Records what standing approvals approve of a plan that was just sealed, as its preview says. A crash before it leaves the actions to
 * people.
 */
export async function approveStanding(
  store: Pick<RunStore, 'append' | 'writeViews'>,
  run: Run,
  read: ReadApprovals,
): Promise<Run> {
  const uses = run.plan?.approval_terms?.actions.some(({ standing }) => standing !== null) ?? false;
  if (!uses) return run;
  const after = await store.append(run.run_id, (now) => {
    const events = standingEvents(now, read);
    crashPoint('standing.checked');
    return events;
  });
  crashPoint('standing.recorded');
  await store.writeViews(run.run_id);
  return after;
}

/** Nothing where somebody has decided since, or where what the preview named does not hold any more. */
function standingEvents(run: Run, read: ReadApprovals): NewEvent[] {
  if (run.status !== 'awaiting_approval' || run.cancelling || run.undo !== null) return [];
  const at = nowFor(run);
  const current = read();
  const { approval } = current.policy;
  const latest = Date.parse(at) + approval.expires_after_days * 86_400_000;
  return run.actions.flatMap((action): NewEvent[] => {
    const { action_id, digest } = action.definition;
    const use = run.plan?.approval_terms?.actions.find((one) => one.action_id === action_id)?.standing;
    const standing = approval.standing.find(({ name }) => name === use?.name);
    if (use == null || standing === undefined || action.decisions.length > 0 || action.terms !== null)
      return [];
    const decision: Approval = {
      decision: 'approve',
      approver: use.author,
      token: authorOf(standing, current).token ?? undefined,
      account: undefined,
      person: undefined,
      standing: { name: use.name, digest: use.digest },
      claimed_approver: null,
      reason: null,
      digest,
      at,
      signature: undefined,
      expires_at: new Date(Math.min(latest, Date.parse(standing.expires_at))).toISOString(),
    };
    const approved = { ...action, approval: 'approved', decision, decisions: [decision] } as const;
    if (problemNow(run, approved, at, read) !== null) return [];
    return [{ type: 'approval_recorded', data: { action_id, approval: decision } }];
  });
}
