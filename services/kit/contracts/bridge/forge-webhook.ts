import * as t from 'io-ts';
import { integerBetween, nullable, optional, Timestamp } from '../../decode.ts';
import { OwnerName, RepoName, textOfAtMost } from './text.ts';

/** GitHub says in `type` what an account is; Gitea's own accounts have numbers below one. */
const Account = t.strict({
  login: textOfAtMost(200),
  id: optional(nullable(t.number)),
  type: optional(nullable(textOfAtMost(100))),
});

/** What shows whether a delivery is about an issue at all. */
export const ForgeDelivery = t.strict({ action: optional(textOfAtMost(100)) });

/**
 * A webhook delivery about an issue, as GitHub (`issues`) and Gitea (`issues`, label changes included) send it; the members that
 * are used, which both have alike. docs.github.com/webhooks/webhook-events-and-payloads, docs.gitea.com/usage/webhooks.
 */
export const ForgeIssueDelivery = t.strict({
  action: textOfAtMost(100),
  issue: t.strict({
    number: integerBetween(1, 2_147_483_647),
    title: textOfAtMost(2_000),
    body: optional(nullable(t.string)),
    state: textOfAtMost(200),
    html_url: textOfAtMost(2_000),
    updated_at: Timestamp,
    labels: optional(nullable(t.array(t.strict({ name: textOfAtMost(200) })))),
    /** There where the issue is a pull request. */
    pull_request: optional(nullable(t.unknown)),
  }),
  /** Of `labeled`: the one. */
  label: optional(nullable(t.strict({ name: textOfAtMost(200) }))),
  repository: t.strict({ name: RepoName, owner: t.strict({ login: OwnerName }) }),
  sender: optional(nullable(Account)),
});
export type ForgeIssueDelivery = t.TypeOf<typeof ForgeIssueDelivery>;
