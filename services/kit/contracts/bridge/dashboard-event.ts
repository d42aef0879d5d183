import * as t from 'io-ts';
import {
  integerBetween,
  listOfAtMost,
  nullable,
  oneOf,
  optional,
  stringThat,
  Timestamp,
} from '../../decode.ts';
import { eventKinds } from '../../forges/forge-traits.ts';
import { webhookForges } from '../../forges/registry.ts';
import { ForgeName, OwnerName, RepoName, textOfAtMost } from './text.ts';

/** Begin the ids of events that dashboards do not send. */
const ownPrefixes = [...webhookForges, 'schedule'].map((source) => `${source}:`);

/** Names an event for good: the same again is the same event. */
export const DashboardEventId = stringThat(
  'DashboardEventId',
  `1 to 200 characters without white space at the ends and without control characters, not beginning with ${ownPrefixes.join(', ')}, and not ending in ~ and digits`,
  (text) =>
    text.length <= 200 &&
    text !== '' &&
    text.trim() === text &&
    text.isWellFormed() &&
    // So end the ids of plans of an event that is tried again.
    !/~\d+$/.test(text) &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) &&
    !ownPrefixes.some((prefix) => text.startsWith(prefix)),
);

export const EventKind = oneOf(eventKinds);
export type EventKind = t.TypeOf<typeof EventKind>;

const Labels = listOfAtMost(textOfAtMost(200), 100);
const Address = textOfAtMost(2_000);

/** An issue of a forge. */
export const ForgeIssue = t.strict({
  owner: OwnerName,
  repo: RepoName,
  number: integerBetween(1, 2_147_483_647),
  /** In config/forges.json; left out, the forge that knows the repository. */
  name: optional(nullable(ForgeName)),
});
export type ForgeIssue = t.TypeOf<typeof ForgeIssue>;

/** Body of `POST /v1/ingress/dashboard-issue`: something happened to an issue. A request, never a command. */
export const DashboardEvent = t.strict({
  event_id: DashboardEventId,
  kind: EventKind,
  occurred_at: Timestamp,
  issue: t.strict({
    /** The dashboard's own. */
    id: t.union([textOfAtMost(200), t.number]),
    title: textOfAtMost(2_000),
    status: textOfAtMost(200),
    /** Key or name of a role. */
    role: optional(nullable(textOfAtMost(100))),
    labels: optional(nullable(Labels)),
    /** The dashboard's page, or that of the forge. */
    url: optional(nullable(Address)),
    /** The issue on its forge, or the address of its page there. */
    forge: optional(nullable(t.union([ForgeIssue, Address]))),
    html_url: optional(nullable(Address)),
  }),
  actor: optional(nullable(t.union([textOfAtMost(200), t.strict({ name: textOfAtMost(200) })]))),
});
