import * as t from 'io-ts';
import { nullable, optional, Timestamp } from '#kit/decode.ts';
import type { Author, Comment, Issue, PullRequest } from '../../ports/forge.ts';
import { shortenedBody } from '../bodies.ts';
import { pageUrl } from '../clone-url.ts';

/** The fields of Gitea's answers that Core uses; `/swagger.v1.json` of any Gitea names the rest. */

const User = nullable(t.strict({ id: t.number, login: t.string }));
export type GiteaUser = t.TypeOf<typeof User>;

export const AccountReply = t.strict({ id: t.number, login: t.string });

export const RepositoryReply = t.strict({
  id: t.number,
  name: t.string,
  full_name: t.string,
  owner: t.strict({ login: t.string }),
  default_branch: t.string,
  clone_url: t.string,
  html_url: t.string,
  archived: t.boolean,
  permissions: optional(nullable(t.strict({ push: t.boolean }))),
  has_pull_requests: optional(t.boolean),
});
export type RepositoryReply = t.TypeOf<typeof RepositoryReply>;

export const IssueReply = t.strict({
  number: t.number,
  title: t.string,
  body: t.string,
  state: t.string,
  is_locked: optional(t.boolean),
  user: User,
  labels: optional(nullable(t.array(t.strict({ name: t.string })))),
  created_at: Timestamp,
  updated_at: Timestamp,
  html_url: t.string,
  pull_request: t.unknown,
});
export type IssueReply = t.TypeOf<typeof IssueReply>;

/** Of `timeline`: 1 and "reopen" are the same in older and newer versions. */
export const TimelineReply = t.strict({ type: t.union([t.string, t.number]), created_at: Timestamp });

/** When an issue was last opened again; null where it was not. */
export function reopenedIn(timeline: readonly t.TypeOf<typeof TimelineReply>[]): string | null {
  const reopened = timeline.filter(({ type }) => type === 'reopen' || type === 1);
  return reopened.at(-1)?.created_at ?? null;
}

export const CommentReply = t.strict({
  id: t.number,
  body: t.string,
  user: User,
  created_at: Timestamp,
  html_url: t.string,
});
export type CommentReply = t.TypeOf<typeof CommentReply>;

export const PullRequestReply = t.strict({
  number: t.number,
  title: t.string,
  body: t.string,
  state: t.string,
  merged: t.boolean,
  merged_at: optional(nullable(Timestamp)),
  closed_at: optional(nullable(Timestamp)),
  user: User,
  /** `ref` becomes `refs/pull/<n>/head` when the branch is gone; `label` stays its name. */
  head: t.strict({ label: t.string, ref: t.string, sha: t.string, repo_id: t.number }),
  base: t.strict({ label: t.string, ref: t.string, repo_id: t.number }),
  html_url: t.string,
  created_at: Timestamp,
});
export type PullRequestReply = t.TypeOf<typeof PullRequestReply>;

export const PermissionReply = t.strict({ permission: t.string });

export const CombinedStatusReply = t.strict({
  statuses: nullable(t.array(t.strict({ context: t.string, status: t.string }))),
});

export const BranchReply = t.strict({
  protected: t.boolean,
  effective_branch_protection_name: optional(t.string),
});

export const ProtectionRulesReply = t.array(t.strict({ rule_name: t.string }));

export function issueOf(reply: IssueReply, author: Author): Issue {
  return {
    number: reply.number,
    title: reply.title,
    body: reply.body,
    state: reply.state === 'closed' ? 'closed' : 'open',
    locked: reply.is_locked ?? false,
    author,
    labels: (reply.labels ?? []).map(({ name }) => name),
    created_at: reply.created_at,
    updated_at: reply.updated_at,
    html_url: pageUrl(reply.html_url),
  };
}

export function commentOf(reply: CommentReply, author: Author): Comment {
  return {
    id: String(reply.id),
    body: shortenedBody(reply.body),
    author,
    created_at: reply.created_at,
    html_url: pageUrl(reply.html_url),
  };
}

export function stateOfPull({ state, merged }: PullRequestReply): PullRequest['state'] {
  if (state === 'open') return 'open';
  return merged ? 'merged' : 'closed';
}

export function pullRequestOf(reply: PullRequestReply, author: Author): PullRequest {
  return {
    number: reply.number,
    title: reply.title,
    body: shortenedBody(reply.body),
    state: stateOfPull(reply),
    head: reply.head.label,
    head_commit: reply.head.sha === '' ? null : reply.head.sha,
    base: reply.base.ref,
    author,
    html_url: pageUrl(reply.html_url),
    created_at: reply.created_at,
  };
}
