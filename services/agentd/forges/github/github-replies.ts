import * as t from 'io-ts';
import { nullable, optional, Timestamp } from '#kit/decode.ts';
import type { Association, Author, Comment, Issue, PullRequest } from '../../ports/forge.ts';
import { shortenedBody } from '../bodies.ts';
import { type Check, stateOfStatus } from '../checks.ts';
import { pageUrl } from '../clone-url.ts';

/** The fields of GitHub's answers that Core uses; https://docs.github.com/rest names the rest. */

const User = nullable(t.strict({ id: t.number, login: t.string, type: t.string }));

export const AccountReply = t.strict({ id: t.number, login: t.string });

export const RepositoryReply = t.strict({
  name: t.string,
  full_name: t.string,
  owner: t.strict({ login: t.string }),
  default_branch: t.string,
  clone_url: t.string,
  html_url: t.string,
  archived: t.boolean,
  private: t.boolean,
  /** Left out for a stranger. */
  permissions: optional(t.strict({ push: t.boolean })),
});
export type RepositoryReply = t.TypeOf<typeof RepositoryReply>;

export const IssueReply = t.strict({
  number: t.number,
  title: t.string,
  body: optional(nullable(t.string)),
  state: t.string,
  /** `reopened` once it was. */
  state_reason: optional(nullable(t.string)),
  locked: t.boolean,
  user: User,
  author_association: optional(t.string),
  labels: t.array(t.union([t.string, t.strict({ name: optional(nullable(t.string)) })])),
  created_at: Timestamp,
  updated_at: Timestamp,
  html_url: t.string,
  repository_url: t.string,
  pull_request: t.unknown,
});
export type IssueReply = t.TypeOf<typeof IssueReply>;

export const IssueEventReply = t.strict({ event: t.string, created_at: Timestamp });

export const CommentReply = t.strict({
  id: t.number,
  body: optional(nullable(t.string)),
  user: User,
  author_association: optional(t.string),
  created_at: Timestamp,
  html_url: t.string,
});
type CommentReply = t.TypeOf<typeof CommentReply>;

export const PullRequestReply = t.strict({
  number: t.number,
  title: t.string,
  body: nullable(t.string),
  state: t.string,
  merged_at: nullable(Timestamp),
  closed_at: optional(nullable(Timestamp)),
  user: User,
  author_association: t.string,
  head: t.strict({ ref: t.string, sha: t.string, repo: nullable(t.strict({ full_name: t.string })) }),
  base: t.strict({ ref: t.string }),
  html_url: t.string,
  created_at: Timestamp,
});
type PullRequestReply = t.TypeOf<typeof PullRequestReply>;

export const CheckRunsReply = t.strict({
  total_count: t.number,
  check_runs: t.array(t.strict({ name: t.string, status: t.string, conclusion: nullable(t.string) })),
});

export const CombinedStatusReply = t.strict({
  statuses: t.array(t.strict({ context: t.string, state: t.string })),
});

export const BranchReply = t.strict({ protected: t.boolean });

export const RulesReply = t.array(t.strict({ type: t.string }));

export const PermissionReply = t.strict({ permission: t.string });

export function issueOf(reply: IssueReply): Issue {
  return {
    number: reply.number,
    title: reply.title,
    body: reply.body ?? '',
    state: reply.state === 'closed' ? 'closed' : 'open',
    locked: reply.locked,
    author: authorOf(reply.user, reply.author_association),
    labels: reply.labels.map((label) => (typeof label === 'string' ? label : (label.name ?? ''))),
    created_at: reply.created_at,
    updated_at: reply.updated_at,
    html_url: pageUrl(reply.html_url),
  };
}

export function commentOf(reply: CommentReply): Comment {
  return {
    id: String(reply.id),
    body: shortenedBody(reply.body ?? ''),
    author: authorOf(reply.user, reply.author_association),
    created_at: reply.created_at,
    html_url: pageUrl(reply.html_url),
  };
}

export function pullRequestOf(reply: PullRequestReply): PullRequest {
  const ended = reply.merged_at === null ? 'closed' : 'merged';
  return {
    number: reply.number,
    title: reply.title,
    body: shortenedBody(reply.body ?? ''),
    state: reply.state === 'open' ? 'open' : ended,
    head: reply.head.ref,
    head_commit: reply.head.sha,
    base: reply.base.ref,
    author: authorOf(reply.user, reply.author_association),
    html_url: pageUrl(reply.html_url),
    created_at: reply.created_at,
  };
}

/** Conclusions other than these speak against the commit. */
const good: readonly string[] = ['success', 'neutral', 'skipped'];

export function checksOf(
  runs: t.TypeOf<typeof CheckRunsReply>['check_runs'],
  { statuses }: t.TypeOf<typeof CombinedStatusReply>,
): Check[] {
  return [
    ...runs.map(({ name, status, conclusion }): Check => {
      if (status !== 'completed' || conclusion === null) return { name, state: 'pending' };
      return { name, state: good.includes(conclusion) ? 'passed' : 'failed' };
    }),
    ...statuses.map(({ context, state }): Check => ({ name: context, state: stateOfStatus(state) })),
  ];
}

const associations: Readonly<Record<string, Association>> = {
  OWNER: 'owner',
  MEMBER: 'member',
  COLLABORATOR: 'collaborator',
  CONTRIBUTOR: 'contributor',
};

/** GitHub shows a deleted account as nobody, and calls it ghost. */
function authorOf(user: t.TypeOf<typeof User>, association: string | undefined): Author {
  if (user === null) return { login: 'ghost', association: 'none', bot: false };
  return {
    id: String(user.id),
    login: user.login,
    association: associations[association ?? ''] ?? 'none',
    bot: user.type === 'Bot',
  };
}
