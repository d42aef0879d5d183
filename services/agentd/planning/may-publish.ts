import type { ActionDefinition } from '../action.ts';
import type { Repository } from './forge.ts';

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
