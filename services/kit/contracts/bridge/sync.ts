import * as t from 'io-ts';
import { nullable, oneOf, optional, Timestamp } from '../../decode.ts';
import { RunSummary } from '../run.ts';
import { ForgeName, OwnerName, RepoName } from './text.ts';

/** Body of `POST /v1/sync/agent-to-dashboard`. */
export const SyncBody = t.strict({
  /** Tries deliveries again that were given up. */
  retry_dead: optional(t.boolean),
});

const DashboardCounts = t.strict({
  /** Summaries that wait to be delivered. */
  waiting: t.number,
  delivered: t.number,
  /** Given up after the last attempt. */
  dead: t.number,
  /** What went wrong last; null after a delivery that did not. */
  problem: nullable(t.string),
});

export const SyncReply = t.strict({
  /** Runs that were looked at. */
  runs: t.number,
  /** Summaries that had not been queued before. */
  queued: t.number,
  /** Of this call. */
  delivered: t.number,
  failed: t.number,
  dashboards: t.record(t.string, DashboardCounts),
});
export type SyncReply = t.TypeOf<typeof SyncReply>;

/** What a dashboard is sent: a run reached a state. */
export const RunStateMessage = t.strict({
  type: oneOf(['run.state']),
  dashboard: t.string,
  /** Also the header `Idempotency-Key`: one for each dashboard, run and state. */
  key: t.string,
  observed_at: Timestamp,
  run: RunSummary,
  /** The event that led to the run; null where none did. */
  event: nullable(t.strict({ event_id: t.string, source: t.string, issue_id: t.string })),
});
export type RunStateMessage = t.TypeOf<typeof RunStateMessage>;

/** A repository of which deliveries came, and since when its forge is to be asked. */
const AskedRepository = { forge: t.string, owner: t.string, repo: t.string, since: Timestamp };

/** `GET /v1/sync/repositories`. */
export const SyncRepositories = t.strict({ repositories: t.array(t.strict(AskedRepository)) });
export type SyncRepositories = t.TypeOf<typeof SyncRepositories>;

/** Body of `POST /v1/sync/forge-to-agent`: one repository. */
export const CatchUpBody = t.strict({
  /** In config/forges.json; left out, the one that knows the repository. */
  forge: optional(nullable(ForgeName)),
  owner: OwnerName,
  repo: RepoName,
  /** Left out: since the last time, at first since its first delivery. */
  since: optional(nullable(Timestamp)),
});
export type CatchUpBody = t.TypeOf<typeof CatchUpBody>;

/** What became of the issues that changed on a forge. */
export const CatchUpReply = t.strict({
  ...AskedRepository,
  /** Everything that changed before is known now, by the forge's clock. */
  until: Timestamp,
  /** Issues that the forge named. */
  asked: t.number,
  /** Events that were made of them. */
  new: t.number,
  /** They say what they said when they were last delivered or planned. */
  known: t.number,
  /** A delivery of them would have started nothing either. */
  refused: t.array(t.strict({ number: t.number, code: t.string, message: t.string })),
});
export type CatchUpReply = t.TypeOf<typeof CatchUpReply>;
