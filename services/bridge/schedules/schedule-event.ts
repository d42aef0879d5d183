import type { IssueList } from '#kit/contracts/issues.ts';
import { sha256 } from '#kit/digest.ts';
import { planned } from '../ingress/planned.ts';
import type { NewEvent } from '../queue/stored-event.ts';
import type { RoleMap } from '../targets/role-map.ts';
import type { Schedule } from './configuration.ts';

export type ListedIssue = IssueList['issues'][number];

/** Whether an issue has changed since it was planned, other than by Core's own comments, or was never planned. */
export function needsPlanning({ planned }: ListedIssue): boolean {
  return planned === null || !planned.unchanged;
}

/** An issue as a schedule found it. Its id names the update, so that the same update is one event however often it is found. */
export function scheduleEvent(
  { name, role }: Schedule,
  { forge, owner, repo }: Pick<IssueList, 'forge' | 'owner' | 'repo'>,
  { number, title, state, labels, updated_at, html_url }: ListedIssue,
  roles: RoleMap,
): NewEvent {
  const issue = `${owner}/${repo}#${number}`;
  const event_id = `schedule:${name}:${forge}/${issue}:${updated_at}`;
  return planned({
    event_id,
    source: 'schedule',
    body_sha256: sha256(event_id),
    content: {
      kind: 'schedule',
      occurred_at: updated_at,
      issue: { id: issue, title, status: state, labels, url: html_url },
      actor: `schedule ${name}`,
    },
    found: { target: { forge, owner, repo, number } },
    choice: roles.choose(role, [], null),
    by: `schedule:${name}`,
  });
}
