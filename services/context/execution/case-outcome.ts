import type { CaseOutcome, OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';

/** How one action of a run ended. */
export interface EndedAction {
  readonly action_id: string;
  readonly kind: string;
  readonly outcome: CaseOutcome;
  readonly at: string;
  readonly reason: string | null;
}

/** What the pull request's end says something about: what made the change and showed it. */
const judgedByPullRequest: readonly string[] = ['apply_patch', 'commit', 'push_branch', 'open_pull_request'];

/** The actions whose end is known. Rehearsals, and what waits or was only blocked by others, teach nothing. */
export function endedActions(plan: PlanRecord, outcome: OutcomeRecord): EndedAction[] {
  return plan.actions.flatMap(({ action_id, kind, dry_run }): EndedAction[] => {
    const action = outcome.actions.find((candidate) => candidate.action_id === action_id);
    if (action === undefined || dry_run) return [];
    const { approval, state, reason, message } = action;
    const at = action.finished_at ?? action.decided_at ?? outcome.at;
    const ended = (how: CaseOutcome, why: string | null): EndedAction[] => [
      { action_id, kind, outcome: how, at, reason: why },
    ];
    if (state === 'undone') return ended('undone', message);
    if (state === 'failed') return ended('failed', message);
    if (state === 'succeeded') {
      const pull = judgedByPullRequest.includes(kind) ? outcome.pull_request : null;
      if (pull === null || pull.state === 'open') return ended('succeeded', null);
      return [{ action_id, kind, outcome: pull.state, at: pull.at, reason: pullReason(pull) }];
    }
    return approval === 'rejected' ? ended('rejected', reason) : [];
  });
}

export function wentWell(outcome: CaseOutcome): boolean {
  return outcome === 'succeeded' || outcome === 'merged';
}

function pullReason({ number, checks }: NonNullable<OutcomeRecord['pull_request']>): string {
  return `pull request #${number}${checks === 'none' ? '' : `, checks ${checks}`}`;
}
