import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import type { EventTarget } from '#kit/contracts/bridge/events.ts';
import { sha256 } from '#kit/digest.ts';
import { Conflict } from '#kit/errors.ts';
import { type NewEvent, type Reason, type StoredEvent, takenUpBySync } from './stored-event.ts';

export interface AcceptedEvent {
  readonly event: StoredEvent;
  /** It was here before. */
  readonly duplicate: boolean;
}

/**
 * Stores an event, or finds the one that it repeats.
 * @param sameContentMs see `coveringOf`
 * @throws Conflict (`event_id_reused`) before anything is written
 */
export function acceptEvent(
  db: DatabaseSync,
  event: NewEvent,
  { now, sameContentMs }: { readonly now: number; readonly sameContentMs: number },
): AcceptedEvent {
  const known = eventById(db, event.event_id);
  if (known !== null && !isSame(known, event)) throw reused(known);
  const before = known ?? deliveredBefore(db, event);
  if (before !== null && !isJudgedAnew(before, event)) return { event: before, duplicate: true };
  const skip = event.skip ?? alreadyHandled(db, event, now - sameContentMs);
  return { event: store(db, { ...event, skip }, before, now), duplicate: false };
}

function alreadyHandled(db: DatabaseSync, event: NewEvent, since: number): Reason | null {
  const { target, issue_sha256 } = event;
  if (target === null || issue_sha256 == null) return null;
  const taken = takenUpBefore(db, event, target);
  if (taken !== null) {
    const message = `its content was handled before it came, by event ${JSON.stringify(taken.event_id)}`;
    return { code: takenUp, message };
  }
  const covering = event.replan ? null : coveringOf(db, target, issue_sha256, since);
  return covering === null ? null : coveredBy(covering);
}

/**
 * The event whose planning another one with this content would only repeat: the last of its issue, which said the same, and waits,
 * is planned, or was planned since. A forge reports a new issue and each of its labels within a second.
 */
function coveringOf(
  db: DatabaseSync,
  target: EventTarget,
  issue_sha256: string,
  since: number,
): StoredEvent | null {
  const last = lastOfIssue(db, target);
  if (last === null || last.issue_sha256 !== issue_sha256 || last.state === 'dead') return null;
  return last.state !== 'done' || last.changed_at >= since ? last : null;
}

/** The event that took up what this delivery says, before it came: the issue was no older then. */
function takenUpBefore(
  db: DatabaseSync,
  { issue_sha256, replan = false, content, by }: NewEvent,
  target: EventTarget,
): StoredEvent | null {
  if (by === takenUpBySync) return null;
  const taken = lastWhere(
    db,
    target,
    `state NOT IN ('skipped', 'dead') AND json_extract(facts, '$.by') = '${takenUpBySync}'`,
  );
  if (taken === null) return null;
  const later = Date.parse(taken.content.occurred_at) - Date.parse(content.occurred_at);
  const same = replan || taken.issue_sha256 === issue_sha256;
  return later > 0 || (later === 0 && same) ? taken : null;
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

function coveredBy({ event_id, run_id, target }: StoredEvent): Reason {
  const run = run_id === null ? 'is planned for both' : `was planned by ${run_id}`;
  return {
    code: sameContent,
    message: `${target?.number === null ? 'the task is that of event' : 'the issue says what it said in event'} ${JSON.stringify(event_id)}, which ${run}`,
  };
}

/**
 * Compared by their bytes, else by their content, since the rules that judge it may have changed. Events of a schedule are the same
 * if their ids are, because the id names the update.
 */
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

type Facts = Pick<NewEvent, 'content' | 'target' | 'role' | 'notes' | 'by'>;

interface Row extends Omit<StoredEvent, keyof Facts | 'reason'> {
  readonly facts: string;
  readonly target: string | null;
  readonly claim: string | null;
  readonly claimed_until: number | null;
  readonly reason_code: string | null;
  readonly reason: string | null;
}

/** The newest event of an issue, of those that contain all that it says and were not skipped. */
export function lastOfIssue(db: DatabaseSync, target: EventTarget): StoredEvent | null {
  return lastWhere(db, target, "state <> 'skipped'");
}

function lastWhere(db: DatabaseSync, target: EventTarget, condition: string): StoredEvent | null {
  const rest = `INDEXED BY events_by_issue WHERE target = ? AND issue_sha256 IS NOT NULL AND ${condition} ORDER BY seq DESC LIMIT 1`;
  return selectEvents(db, rest, targetKey(target))[0] ?? null;
}

export function eventById(db: DatabaseSync, eventId: string): StoredEvent | null {
  return selectEvents(db, 'WHERE event_id = ?', eventId)[0] ?? null;
}

/** A delivery of a forge that had the same bytes. */
function deliveredBefore(db: DatabaseSync, { source, body_sha256 }: NewEvent): StoredEvent | null {
  const rest = "WHERE source = ? AND body_sha256 = ? AND source NOT IN ('dashboard', 'schedule')";
  return selectEvents(db, rest, source, body_sha256)[0] ?? null;
}

/** @param rest of the SQL, after the name of the table */
export function selectEvents(db: DatabaseSync, rest: string, ...values: SQLInputValue[]): StoredEvent[] {
  return db
    .prepare(`SELECT * FROM events ${rest}`)
    .all(...values)
    .map(storedEvent);
}

/** What came again is judged by what is configured now; it keeps its place, its id, and the bytes that it is known by. */
function store(db: DatabaseSync, event: NewEvent, before: StoredEvent | null, now: number): StoredEvent {
  const { event_id, source, body_sha256, issue_sha256 = null } = event;
  const { content, target, role, notes, by, skip } = event;
  const facts: Facts = { content, target, role, notes, by };
  const judged = {
    ...{ facts: JSON.stringify(facts), target: target === null ? null : targetKey(target), issue_sha256 },
    ...{ state: skip === null ? 'pending' : 'skipped', changed_at: now, due_at: skip === null ? now : null },
    ...{ reason_code: skip?.code ?? null, reason: skip?.message ?? null },
  };
  const columns = { event_id, source, body_sha256, received_at: now, ...judged };
  const names = Object.keys(columns);
  const [sql, values] =
    before === null
      ? [`INSERT INTO events (${names}) VALUES (${names.map(() => '?')})`, Object.values(columns)]
      : [
          `UPDATE events SET ${Object.keys(judged).map((name) => `${name} = ?`)} WHERE seq = ?`,
          [...Object.values(judged), before.seq],
        ];
  return storedEvent(db.prepare(`${sql} RETURNING *`).get(...values));
}

/** @param row every column of `events` */
export function storedEvent(row: unknown): StoredEvent {
  const { facts, reason_code, reason, target: _, claim: __, claimed_until: ___, ...plain } = row as Row;
  const plainFacts = JSON.parse(facts) as Facts;
  return {
    ...plain,
    ...plainFacts,
    reason: reason_code === null ? null : { code: reason_code, message: reason ?? '' },
  };
}

/** An issue is planned one event at a time, and so is a task. */
export function targetKey(target: EventTarget): string {
  const { forge, owner, repo } = target;
  const subject = target.number ?? sha256(target.task);
  return `${forge ?? ''}/${owner}/${repo}#${subject}`.toLowerCase();
}
