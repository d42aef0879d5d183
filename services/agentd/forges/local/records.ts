import * as t from 'io-ts';
import { nullable, oneOf, Timestamp } from '#kit/decode.ts';
import type { Association } from '../../ports/forge.ts';

/** The files of the local forge. People may read them, and edit what they like: each is decoded when it is read. */

export const associations = [
  'owner',
  'member',
  'collaborator',
  'contributor',
  'none',
] as const satisfies readonly Association[];

const AuthorRecord = t.strict({
  login: t.string,
  association: oneOf(associations),
  bot: t.boolean,
});

/** `repository.json` */
export const RepositoryRecord = t.strict({
  owner: t.string,
  repo: t.string,
  default_branch: t.string,
  /** Globs of branches that Core must not push to, beside the default branch. */
  protected_branches: t.array(t.string),
  archived: t.boolean,
  created_at: Timestamp,
});
export type RepositoryRecord = t.TypeOf<typeof RepositoryRecord>;

/** `issues/<n>.json` */
export const IssueRecord = t.strict({
  number: t.number,
  title: t.string,
  body: t.string,
  locked: t.boolean,
  labels: t.array(t.string),
  author: AuthorRecord,
  created_at: Timestamp,
});
export type IssueRecord = t.TypeOf<typeof IssueRecord>;

/** `comments/<n>/<id>.json` */
export const CommentRecord = t.strict({
  id: t.string,
  body: t.string,
  author: AuthorRecord,
  created_at: Timestamp,
});
export type CommentRecord = t.TypeOf<typeof CommentRecord>;

/** `pulls/<n>.json` */
export const PullRequestRecord = t.strict({
  number: t.number,
  title: t.string,
  body: t.string,
  head: t.string,
  base: t.string,
  author: AuthorRecord,
  created_at: Timestamp,
});
export type PullRequestRecord = t.TypeOf<typeof PullRequestRecord>;

/** `issues/<n>.closed.json` and `pulls/<n>.closed.json`: how it ended. Made once, so that two endings cannot mix. */
export const EndRecord = t.strict({
  state: oneOf(['closed', 'merged']),
  by: t.string,
  at: Timestamp,
  /** The commit that the base branch was moved to; null when nothing was merged. */
  commit: nullable(t.string),
});
export type EndRecord = t.TypeOf<typeof EndRecord>;
