import * as t from 'io-ts';
import { nullable, optional, Timestamp } from '#kit/decode.ts';
import type { Author, CheckState, Comment, Issue, PullRequest } from '../ports/forge.ts';
import { pageUrl } from './clone-url.ts';
import { shortenedBody } from './filters.ts';

/**
 * The fields of GitHub's and Gitea's answers that Core uses; Gitea's API follows GitHub's. A field that one of them never sends is optional.
 * https://docs.github.com/rest and `/swagger.v1.json` of any Gitea name the rest.
 */

const User = nullable(t.strict({ id: t.number, login: t.string, type: optional(t.string) }));

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
  private: optional(t.boolean),
  /** Left out for a stranger. */
  permissions: optional(nullable(t.strict({ push: t.boolean }))),
  has_pull_requests: optional(t.boolean),
});
export type RepositoryReply = t.TypeOf<typeof RepositoryReply>;

/** Who wrote something, and on GitHub how they stand to the repository. */
const authored = { user: User, author_association: optional(t.string) };
export type Authored = t.TypeOf<t.StrictC<typeof authored>>;

export const IssueReply = t.strict({
  ...authored,
  number: t.number,
  title: t.string,
  body: optional(nullable(t.string)),
  state: t.string,
  /** `reopened` once it was. */
  state_reason: optional(nullable(t.string)),
  locked: optional(t.boolean),
  is_locked: optional(t.boolean),
  labels: optional(nullable(t.array(t.union([t.string, t.strict({ name: optional(nullable(t.string)) })])))),
  created_at: Timestamp,
  updated_at: Timestamp,
  html_url: t.string,
  repository_url: optional(t.string),
  pull_request: t.unknown,
});
export type IssueReply = t.TypeOf<typeof IssueReply>;

export const CommentReply = t.strict({
  ...authored,
  id: t.number,
  body: optional(nullable(t.string)),
  created_at: Timestamp,
  html_url: t.string,
});
export type CommentReply = t.TypeOf<typeof CommentReply>;

export const PullRequestReply = t.strict({
  ...authored,
  number: t.number,
  title: t.string,
  body: optional(nullable(t.string)),
  state: t.string,
  merged: optional(t.boolean),
  merged_at: optional(nullable(Timestamp)),
  closed_at: optional(nullable(Timestamp)),
  head: t.strict({
    label: optional(t.string),
    ref: t.string,
    sha: t.string,
    repo_id: optional(t.number),
    repo: optional(nullable(t.strict({ full_name: t.string }))),
  }),
  base: t.strict({ ref: t.string, repo_id: optional(t.number) }),
  html_url: t.string,
  created_at: Timestamp,
});
export type PullRequestReply = t.TypeOf<typeof PullRequestReply>;

export const PermissionReply = t.strict({
  permission: t.string,
  role_name: optional(nullable(t.string)),
  user: optional(
    nullable(
      t.strict({ permissions: optional(nullable(t.strict({ triage: optional(nullable(t.boolean)) }))) }),
    ),
  ),
});
export type PermissionReply = t.TypeOf<typeof PermissionReply>;

/** Gitea calls the state of a status `status`. */
export const CombinedStatusReply = t.strict({
  statuses: nullable(
    t.array(t.strict({ context: t.string, state: optional(t.string), status: optional(t.string) })),
  ),
});

export function isPull({ pull_request }: IssueReply): boolean {
  return pull_request !== undefined && pull_request !== null;
}

export function labelsOf({ labels }: IssueReply): string[] {
  return (labels ?? []).map((label) => (typeof label === 'string' ? label : (label.name ?? '')));
}

export function issueOf(reply: IssueReply): Omit<Issue, 'author' | 'locked'> {
  return {
    number: reply.number,
    title: reply.title,
    body: reply.body ?? '',
    state: reply.state === 'closed' ? 'closed' : 'open',
    labels: labelsOf(reply),
    created_at: reply.created_at,
    updated_at: reply.updated_at,
    html_url: pageUrl(reply.html_url),
  };
}

export function commentOf(reply: CommentReply, author: Author): Comment {
  return {
    id: String(reply.id),
    body: shortenedBody(reply.body ?? ''),
    author,
    created_at: reply.created_at,
    html_url: pageUrl(reply.html_url),
  };
}

export function stateOfPull({ state, merged, merged_at }: PullRequestReply): PullRequest['state'] {
  if (state === 'open') return 'open';
  return (merged ?? (merged_at !== undefined && merged_at !== null)) ? 'merged' : 'closed';
}

export function pullRequestOf(reply: PullRequestReply, head: string, author: Author): PullRequest {
  return {
    number: reply.number,
    title: reply.title,
    body: shortenedBody(reply.body ?? ''),
    state: stateOfPull(reply),
    head,
    head_commit: reply.head.sha === '' ? null : reply.head.sha,
    base: reply.base.ref,
    author,
    html_url: pageUrl(reply.html_url),
    created_at: reply.created_at,
  };
}

export interface Check {
  readonly name: string;
  readonly state: 'pending' | 'passed' | 'failed';
}

export function statusChecks({ statuses }: t.TypeOf<typeof CombinedStatusReply>): Check[] {
  return (statuses ?? []).map(({ context, state, status }) => ({
    name: context,
    state: stateOfStatus(state ?? status),
  }));
}

function stateOfStatus(word: string | undefined): Check['state'] {
  if (word === 'success' || word === 'warning' || word === 'skipped') return 'passed';
  return word === 'pending' ? 'pending' : 'failed';
}

/** All together: failed as soon as one failed, passed when all did. */
export function checksTogether(checks: readonly Check[]): {
  readonly checks: CheckState;
  readonly failed_checks: string[];
} {
  const failed = checks.filter(({ state }) => state === 'failed').map(({ name }) => name);
  const failed_checks = [...new Set(failed)].sort();
  if (failed.length > 0) return { checks: 'failed', failed_checks };
  if (checks.length === 0) return { checks: 'none', failed_checks };
  return { checks: checks.some(({ state }) => state === 'pending') ? 'pending' : 'passed', failed_checks };
}
