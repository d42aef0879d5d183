import * as t from 'io-ts';
import { nullable, oneOf, optional, stringThat } from '../decode.ts';
import { webhookForges } from '../forges/registry.ts';

const Word = stringThat(
  'Word',
  'a text of 1 to 1000 characters without control characters',
  (text) => text.trim() !== '' && text.length <= 1_000 && !/\p{Cc}/u.test(text),
);

/** What led to a run; said by who asked, kept for people to read, and never acted upon. */
export const RunTrigger = t.strict({
  kind: oneOf(['dashboard', ...webhookForges, 'schedule', 'bus']),
  event_id: optional(nullable(Word)),
  /** What happened, for example `issue.status_changed`, or the name of a schedule. */
  what: optional(nullable(Word)),
  actor: optional(nullable(Word)),
});
export type RunTrigger = t.TypeOf<typeof RunTrigger>;
