import { digestOf } from '#kit/digest.ts';
import { actionKinds } from '../action.ts';
import { actionDigest } from '../actions/digest.ts';
import type { Plan } from '../actions/kind.ts';
import { type ActionDefinition, actionType } from '../actions/registry.ts';
import { withHistory } from '../actions/risk.ts';
import type { Repository } from '../ports/forge.ts';

/**
 * Turns a plan into its actions, in execution order, without those that the role may not propose, and what builds on them.
 * Pure: same input, same bytes.
 */
export function proposeActions(plan: Plan): ActionDefinition[] {
  const { run_id, target, influences, dry_run, may_propose, policy } = plan;
  const actions: ActionDefinition[] = [];
  for (const kind of actionKinds) {
    const { propose, gate } = actionType(kind);
    const proposed = may_propose.includes(kind) ? propose(plan) : null;
    if (proposed === null) continue;
    const idOf = (needed: string) => actions.find((earlier) => earlier.kind === needed)?.action_id;
    const [essential] = proposed.needs;
    if (essential !== undefined && idOf(essential) === undefined) continue;
    const { title, rationale, params, needs, artifacts } = proposed;
    const ordinal = actions.length + 1;
    const action_id = `act_${ordinal}_${digestOf({ run_id, ordinal, kind, target, title }).slice(0, 8)}`;
    const history = plan.history.get(kind) ?? null;
    const { risk, score, reasons } = withHistory(proposed.risk, history, policy);
    const action = {
      run_id,
      action_id,
      ordinal,
      kind,
      gate,
      title,
      rationale,
      risk,
      risk_score: score,
      risk_reasons: [...reasons],
      params: typeof params === 'function' ? params({ action_id, earlier: actions }) : params,
      dry_run,
      depends_on: needs.flatMap((needed) => idOf(needed) ?? []),
      artifacts: { ...artifacts },
      influences: [...influences],
      history,
      target,
    } as Omit<ActionDefinition, 'digest'>;
    actions.push({ ...action, digest: actionDigest(action) } as ActionDefinition);
  }
  return actions;
}

/** Said before a person spends an approval: what of the plan the account of the token could not do. */
export function rightsNotices(
  { owner, repo, access }: Pick<Repository, 'owner' | 'repo' | 'access'>,
  actions: readonly Pick<ActionDefinition, 'kind'>[],
): string[] {
  if (!actions.some(({ kind }) => kind === 'push_branch')) return [];
  const name = `${owner}/${repo}`;
  const { push, pull_request, reason } = access;
  if (push === false) return [`this plan cannot be pushed to ${name}: ${reason}`];
  if (pull_request === false) return [`no pull request can be opened in ${name}: ${reason}`];
  if (push === null || pull_request === null)
    return [`whether this plan can be pushed to ${name} is not known: ${reason}`];
  return [];
}
