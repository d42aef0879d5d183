import type { EventState } from '#kit/contracts/bridge/events.ts';
import type { AcceptedEvent } from './accept-event.ts';
import type { NewEvent, StoredEvent } from './stored-event.ts';

/** How the pending events wait, and what died. */
export interface EventBacklog {
  /** Milliseconds since the one came that is pending longest; null where none is. */
  readonly oldestMs: number | null;
  readonly died: number;
}

export interface PageOfEvents {
  /** Left out: of any state. */
  readonly state: EventState | undefined;
  /** Ascending by `seq`, else descending. */
  readonly oldestFirst: boolean;
  /** `seq` of the last event of the page before; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
}

/** Where the events are. Their jobs are in the same rows. */
export interface EventRows {
  /**
   * Stores an event, or finds the one that it repeats; durable when it resolves.
   * @param sameContentMs for so long after its planning an issue that says the same is not planned again
   * @throws Conflict (`event_id_reused`), Unavailable
   */
  accept(event: NewEvent, sameContentMs: number): Promise<AcceptedEvent>;
  byId(eventId: string): Promise<StoredEvent | null>;
  ofRun(runId: string): Promise<StoredEvent | null>;
  /** The newest event of an issue, of those that contain all that it says and were not skipped. */
  lastOfIssue(target: string): Promise<StoredEvent | null>;
  /** One of these issues that is processed. */
  processing(targets: readonly [string, string]): Promise<StoredEvent | null>;
  /** Without those of smoke tests: they are found by their ids alone. */
  page(page: PageOfEvents): Promise<readonly StoredEvent[]>;
  /** @param diedWithinMs of what died counts this */
  backlog(diedWithinMs: number): Promise<EventBacklog>;
  /** What keeps events from being stored; null where nothing does. */
  readonly problem: unknown;
}
