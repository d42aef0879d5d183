import * as t from 'io-ts';
import { nullable, Timestamp } from '../decode.ts';
import { RunStatus } from './run.ts';

export const issueStates = ['open', 'closed', 'all'] as const;

const listed = {
  number: t.number,
  title: t.string,
  state: t.string,
  author: t.string,
  labels: t.array(t.string),
  created_at: Timestamp,
  /** By the forge's clock. */
  updated_at: Timestamp,
  html_url: nullable(t.string),
};

/** `GET /v1/issues`: issues of one repository as its forge has them, newest first by `sort`. */
export const IssueList = t.strict({
  forge: t.string,
  owner: t.string,
  repo: t.string,
  issues: t.array(
    t.strict({
      ...listed,
      /** The newest run of this issue; `at` is when it was made, by this machine's clock. */
      planned: nullable(
        t.strict({
          run_id: t.string,
          at: Timestamp,
          status: RunStatus,
          /** The issue says what that run read; comments of Core itself do not count. */
          unchanged: t.boolean,
        }),
      ),
    }),
  ),
});
export type IssueList = t.TypeOf<typeof IssueList>;

/** `GET /v1/issues/changed`: issues that changed since a time, comments on them included; the one that changed first comes first. */
export const ChangedIssues = t.strict({
  forge: t.string,
  owner: t.string,
  repo: t.string,
  /** Everything that changed before was listed, by the forge's clock; ask from here the next time. */
  until: Timestamp,
  /** More changed than are listed at once: ask again from `until`. */
  more: t.boolean,
  issues: t.array(
    t.strict({
      ...listed,
      /** Of its text. */
      body_sha256: t.string,
      /** When it was last opened again; null where that was before, or never. */
      reopened_at: nullable(Timestamp),
      /** When the newest run read what the issue says now, by the forge's clock; null where none did. */
      planned_at: nullable(Timestamp),
    }),
  ),
});
export type ChangedIssues = t.TypeOf<typeof ChangedIssues>;
