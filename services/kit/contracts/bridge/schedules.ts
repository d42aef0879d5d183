import * as t from 'io-ts';
import { nullable, Timestamp } from '../../decode.ts';

/** What the last evaluation of a schedule found. */
export const ScheduleResult = t.strict({
  at: Timestamp,
  /** Issues that the query gave. */
  issues: t.number,
  /** Events that were made for them. */
  events: t.number,
  /** Issues that were planned since their last update. */
  planned: t.number,
  problem: nullable(t.string),
});
export type ScheduleResult = t.TypeOf<typeof ScheduleResult>;

export const ScheduleView = t.strict({
  name: t.string,
  cron: t.string,
  zone: t.string,
  enabled: t.boolean,
  forge: nullable(t.string),
  owner: t.string,
  repo: t.string,
  label: nullable(t.string),
  state: t.string,
  limit: t.number,
  role: nullable(t.string),
  /** What is planned in place of issues; null for issues. */
  task: nullable(t.string),
  /** null where it never comes, or is switched off. */
  next_at: nullable(Timestamp),
  /** Everything that was due up to then has been done. */
  evaluated_until: Timestamp,
  last_result: nullable(ScheduleResult),
});
export type ScheduleView = t.TypeOf<typeof ScheduleView>;

export const ScheduleList = t.strict({
  schedules: t.array(ScheduleView),
  /** When the bus called last. */
  last_tick_at: nullable(Timestamp),
});
export type ScheduleList = t.TypeOf<typeof ScheduleList>;

/** Result of the function `core.schedules.tick`. */
export const TickResult = t.strict({
  ok: t.boolean,
  due: t.array(t.string),
  events: t.number,
  problems: t.array(t.string),
});
export type TickResult = t.TypeOf<typeof TickResult>;
