import type {
  EventRole,
  EventSource,
  EventState,
  EventTarget,
  EventView,
} from '#kit/contracts/bridge/events.ts';
import type { WebhookForge } from '#kit/forges/registry.ts';

/** What an event says of itself; never acted upon. */
export interface EventContent {
  readonly kind: string;
  readonly occurred_at: string;
  readonly issue: EventView['issue'];
  readonly actor: string | null;
  /** Of a forge's event: the account is a bot, or it is not known to be the one that caused it. Otherwise left out. */
  readonly actor_kind?: 'bot' | 'unknown';
}

export interface Reason {
  readonly code: string;
  readonly message: string;
}

/** An event on its way into the queue. */
export interface NewEvent {
  readonly event_id: string;
  readonly source: EventSource;
  /** Of the bytes that came. */
  readonly body_sha256: string;
  readonly content: EventContent;
  /** Of all that the issue says, from senders who give all of it. */
  readonly issue_sha256?: string | null;
  /** It is planned although the issue says what it said, as one that was opened again is. */
  readonly replan?: boolean;
  readonly target: EventTarget | null;
  readonly role: EventRole | null;
  /** Why it will not be planned; null for one that is pending. */
  readonly skip: Reason | null;
  readonly notes: readonly string[];
  /** Who brought it. */
  readonly by: string;
}

/** `by` of events that `core-bridge sync` took up. */
export const takenUpBySync = 'sync';

/** A row of the queue. Times are milliseconds since 1970. */
export interface StoredEvent extends Omit<NewEvent, 'skip' | 'replan'> {
  readonly seq: number;
  readonly state: EventState;
  readonly received_at: number;
  readonly changed_at: number;
  /** Attempts that failed. */
  readonly attempts: number;
  /** Pending: not before. */
  readonly due_at: number | null;
  /** How often a person had it planned again after a run that failed. */
  readonly generation: number;
  readonly run_id: string | null;
  readonly reason: Reason | null;
}

export function isOfForge(source: EventSource): source is WebhookForge {
  return source !== 'dashboard' && source !== 'schedule';
}

/** Names the planning of an event: the same name, the same run. */
export function planningId({ event_id, generation }: Pick<StoredEvent, 'event_id' | 'generation'>): string {
  return generation === 0 ? event_id : `${event_id}~${generation + 1}`;
}

export function eventView(event: StoredEvent): EventView {
  const { content, state, due_at } = event;
  return {
    event_id: event.event_id,
    source: event.source,
    kind: content.kind,
    occurred_at: content.occurred_at,
    received_at: time(event.received_at),
    changed_at: time(event.changed_at),
    state,
    issue: content.issue,
    actor: content.actor,
    by: event.by,
    target: event.target,
    role: event.role,
    notes: [...event.notes],
    attempts: event.attempts,
    retry_at: state === 'pending' && event.reason !== null && due_at !== null ? time(due_at) : null,
    run_id: event.run_id,
    reason: event.reason,
  };
}

function time(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
