import { isDeepStrictEqual } from 'node:util';
import { Conflict } from '#kit/errors.ts';
import type { EventRows } from './event-rows.ts';
import type { NewEvent, Reason, StoredEvent } from './stored-event.ts';

export interface AcceptedEvent {
  readonly event: StoredEvent;
  /** It was here before. */
  readonly duplicate: boolean;
}

/**
 * Stores an event, or finds the one that it repeats.
 * @param sameContentMs see `EventRows.coveringOf`
 * @throws Conflict (`event_id_reused`) before anything is written
 */
export function acceptEvent(
  rows: EventRows,
  event: NewEvent,
  { now, sameContentMs }: { readonly now: number; readonly sameContentMs: number },
): AcceptedEvent {
  const known = rows.byId(event.event_id);
  if (known !== null && !isSame(known, event)) throw reused(known);
  const before = known ?? rows.byBody(event.source, event.body_sha256);
  if (before !== null && !isJudgedAnew(before, event)) return { event: before, duplicate: true };
  const skip = event.skip ?? alreadyHandled(rows, event, now - sameContentMs);
  const stored = { ...event, skip };
  const kept = before === null ? rows.insert(stored, now) : rows.replace(before, stored, now);
  return { event: kept, duplicate: false };
}

function alreadyHandled(rows: EventRows, event: NewEvent, since: number): Reason | null {
  const taken = rows.takenUpBefore(event);
  if (taken !== null) {
    const message = `what it tells was taken up before it came, by event ${JSON.stringify(taken.event_id)}`;
    return { code: takenUp, message };
  }
  const covering = rows.coveringOf(event, since);
  return covering === null ? null : coveredBy(covering);
}

/** What was skipped and would be planned by now, since a forge, a role or a status was configured meanwhile. */
function isJudgedAnew(before: StoredEvent, given: NewEvent): boolean {
  return (
    before.state === 'skipped' &&
    given.skip === null &&
    ![sameContent, takenUp].includes(before.reason?.code ?? '')
  );
}

const sameContent = 'same_content';
const takenUp = 'taken_up';

function coveredBy({ event_id, run_id }: StoredEvent): Reason {
  const run = run_id === null ? 'is planned for both' : `was planned by ${run_id}`;
  return {
    code: sameContent,
    message: `the issue says what it said in event ${JSON.stringify(event_id)}, which ${run}`,
  };
}

/** Told by the bytes, else by what they say; how it is judged may have changed since. What a schedule found is the same as long as its id is: it names the update. */
function isSame(known: StoredEvent, given: NewEvent): boolean {
  if (known.source !== given.source) return false;
  if (known.body_sha256 === given.body_sha256 || given.source === 'schedule') return true;
  if (!isDeepStrictEqual(known.content, given.content)) return false;
  return known.state === 'skipped' || isDeepStrictEqual(judged(known), judged(given));
}

function judged({ target, role }: Pick<NewEvent, 'target' | 'role'>): unknown {
  return { target, role };
}

function reused({ event_id }: StoredEvent): Conflict {
  return new Conflict(
    'event_id_reused',
    `event ${JSON.stringify(event_id)} came before with another content: an id names one event for good`,
    { facts: { event_id } },
  );
}
