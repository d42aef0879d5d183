import * as t from 'io-ts';
import { nullable, oneOf, optional, Timestamp } from '../../decode.ts';
import { webhookForges } from '../../forges/registry.ts';
import { withoutSecrets } from '../../redaction/masked-text.ts';
import { textOfAtMost } from './text.ts';

/** The words of the bridge, plain lists without a decoder, so that a command line can name them without loading one. */

/** `processing`, `done` and `dead` follow `pending`; `skipped` is never planned. */
export const eventStates = ['pending', 'processing', 'done', 'skipped', 'dead'] as const;

export const EventState = oneOf(eventStates);
export type EventState = t.TypeOf<typeof EventState>;

/** Where events come from. */
export const EventSource = oneOf(['dashboard', ...webhookForges, 'schedule']);
export type EventSource = t.TypeOf<typeof EventSource>;

const place = {
  /** In config/forges.json; null: the one forge that knows the repository. */
  forge: nullable(t.string),
  owner: t.string,
  repo: t.string,
};

/** What is to be planned: an issue on a forge, or a task in a repository. */
export const EventTarget = t.union([
  t.strict({ ...place, number: t.number }),
  t.strict({ ...place, number: t.null, task: t.string }),
]);
export type EventTarget = t.TypeOf<typeof EventTarget>;

const Reason = t.strict({ code: t.string, message: t.string });

export const EventRole = t.strict({ key: t.string, name: t.string });
export type EventRole = t.TypeOf<typeof EventRole>;

/** An event with what became of it. */
export const EventView = t.strict({
  event_id: t.string,
  source: EventSource,
  /** `issue.created` and the like; `schedule` for those of schedules. */
  kind: t.string,
  occurred_at: Timestamp,
  received_at: Timestamp,
  changed_at: Timestamp,
  state: EventState,
  issue: t.strict({
    id: t.string,
    title: t.string,
    status: t.string,
    labels: t.array(t.string),
    url: nullable(t.string),
  }),
  actor: nullable(t.string),
  /** Who brought it: the name of a token, or whose signature it carried. */
  by: t.string,
  target: nullable(EventTarget),
  role: nullable(EventRole),
  /** What was decided on the way, for people. */
  notes: t.array(t.string),
  /** Attempts that failed. */
  attempts: t.number,
  /** Pending: not tried before. */
  retry_at: nullable(Timestamp),
  run_id: nullable(t.string),
  /** Why it was skipped, is dead, or failed last. */
  reason: nullable(Reason),
});
export type EventView = t.TypeOf<typeof EventView>;

/** Answer of the ingress. */
export const IngressReply = t.strict({
  /** null for what is no event of an issue. */
  event_id: nullable(t.string),
  state: oneOf([...eventStates, 'ignored']),
  /** The event was here before, under this id. */
  duplicate: t.boolean,
  target: nullable(EventTarget),
  role: nullable(EventRole),
  run_id: nullable(t.string),
  reason: nullable(Reason),
  notes: t.array(t.string),
  /** Members of the body that nobody looks at, as JSON pointers. */
  unknown_members: t.array(t.string),
});
export type IngressReply = t.TypeOf<typeof IngressReply>;

export const EventList = t.strict({
  events: t.array(EventView),
  /** Give it as `cursor` for the next page; null on the last. */
  next_cursor: nullable(t.string),
});
export type EventList = t.TypeOf<typeof EventList>;

/** Body of `POST /v1/events/process-next`. */
export const ProcessBody = t.strict({
  /** This event alone; left out, the next one that is due. */
  event_id: optional(nullable(withoutSecrets(textOfAtMost(1_000)))),
  /** false: answered as soon as it is claimed. Default true. */
  wait: optional(t.boolean),
});
export type ProcessBody = t.TypeOf<typeof ProcessBody>;

export const ProcessReply = t.strict({
  /** null: nothing is due. */
  event: nullable(EventView),
  /** Events that are pending still. */
  pending: t.number,
  /** When the next of them is due; null where none is pending. */
  next_due_at: nullable(Timestamp),
});
export type ProcessReply = t.TypeOf<typeof ProcessReply>;

/** `GET /v1/agents/map`. */
export const AgentMap = t.strict({
  roles: t.array(t.strict({ key: t.string, name: t.string, purpose: t.string, plans: t.boolean })),
  /** Name of the role for events that name none. */
  default_role: t.string,
});
export type AgentMap = t.TypeOf<typeof AgentMap>;
