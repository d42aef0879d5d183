import * as t from 'io-ts';
import { nullable, oneOf, optional, Timestamp } from '../../decode.ts';
import { RunSummary } from '../run.ts';

/** Body of `POST /v1/sync/agent-to-dashboard`. */
export const SyncBody = t.strict({
  /** Tries deliveries again that were given up. */
  retry_dead: optional(t.boolean),
});
export type SyncBody = t.TypeOf<typeof SyncBody>;

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
