import * as t from 'io-ts';
import { nullable, oneOf, stringThat } from '../../decode.ts';

export const usageGroups = ['run', 'model', 'day'] as const;
export const UsageGroup = oneOf(usageGroups);
export type UsageGroup = t.TypeOf<typeof UsageGroup>;

/** A day in UTC, for example `2026-11-22`. */
export const Day = stringThat('Day', 'a day as YYYY-MM-DD, for example 2026-11-22', (text) => {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
});

/** What the calls of one run, model or day came to. */
export const UsageLine = t.strict({
  /** The run, the model or the day. Calls outside of runs stand under their token, as `token:NAME`. */
  name: t.string,
  calls: t.number,
  /** Of these: left by their client, and failed. */
  aborted: t.number,
  failed: t.number,
  /** Of these: with tokens that were estimated, because the upstream reported none. */
  estimated: t.number,
  /** Of these: with tokens that the upstream reported in impossible numbers, or in numbers that contradict each other; they count at their highest reading. */
  contradictory: t.number,
  /** Of these: cut off by the end of the gateway, and counted at what was reserved. */
  unsettled: t.number,
  input_tokens: t.number,
  output_tokens: t.number,
  cached_tokens: t.number,
  cache_write_tokens: t.number,
  /** US dollars. */
  cost: t.number,
});
export type UsageLine = t.TypeOf<typeof UsageLine>;

/** `GET /v1/usage`. */
export const UsageReply = t.strict({
  by: UsageGroup,
  /** First and last day, both included; null is no bound. */
  from: nullable(Day),
  to: nullable(Day),
  rows: t.array(UsageLine),
  total: UsageLine,
});
export type UsageReply = t.TypeOf<typeof UsageReply>;
