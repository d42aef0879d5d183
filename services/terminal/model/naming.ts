import type { ProposedAction } from '#kit/contracts/action.ts';
import type { OpenRun } from './state.ts';

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
    ({ action_id, approval, state }) =>
      depends_on.includes(action_id) && approval !== 'approved' && state !== 'succeeded',
  );
}

/** An execution that met it unapproved recorded a refusal; to people it just waits. */
export function waitsUnapproved({ state, approval, outcome }: ProposedAction): boolean {
  return state === 'refused' && approval === 'required' && outcome?.code === 'approval_required';
}
