import type { ProposedAction } from '#kit/contracts/action.ts';
import type { RunDetail } from '#kit/contracts/run.ts';
import type { OpenRun } from './state.ts';

/** Why nothing of a run can be decided or executed any more; null while something may. */
export function whyOver(detail: RunDetail | null): string | null {
  if (detail === null) return null;
  if (detail.superseded_by !== null)
    return `The run was superseded: ${detail.superseded_by} is a newer plan of the issue`;
  if (detail.undo === null && detail.status !== 'cancelled') return null;
  const undone = detail.status === 'undone' ? 'was undone' : 'was undone in part';
  return `The run ${detail.undo === null ? 'is cancelled' : undone}; plan the issue again (n in the list) for a new decision`;
}

export function named({ ordinal, kind }: Pick<ProposedAction, 'ordinal' | 'kind'>): string {
  return `${ordinal} ${kind}`;
}

/** What the action builds on and nobody has approved: as long as that is so it does not run. */
export function unapprovedNeeds(
  { detail }: OpenRun,
  { depends_on }: ProposedAction,
): readonly ProposedAction[] {
  const actions = detail?.actions ?? [];
  return actions.filter(
    ({ action_id, approval, approval_problem, state }) =>
      depends_on.includes(action_id) &&
      (approval !== 'approved' || approval_problem != null) &&
      state !== 'succeeded',
  );
}

/** An execution that met it unapproved recorded a refusal; to people it just waits. */
export function waitsUnapproved({ state, approval, outcome }: ProposedAction): boolean {
  return state === 'refused' && approval === 'required' && outcome?.code === 'approval_required';
}

export function isPushed({ actions }: RunDetail): boolean {
  return actions.some(({ kind, state }) => kind === 'push_branch' && state === 'succeeded');
}
