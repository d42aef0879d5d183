import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import type { EventSource, EventTarget } from '#kit/contracts/bridge/events.ts';
import { Conflict } from '#kit/errors.ts';
import { type NewEvent, type Reason, type StoredEvent, takenUpBySync } from './stored-event.ts';

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

type Facts = Pick<NewEvent, 'content' | 'target' | 'role' | 'notes' | 'by'>;

interface Row extends Omit<StoredEvent, keyof Facts | 'reason'> {
  readonly facts: string;
  readonly target: string | null;
  readonly claim: string | null;
  readonly claimed_until: number | null;
  readonly reason_code: string | null;
  readonly reason: string | null;
}

/** Events as rows of the queue. */
export class EventRows {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db);
  }

  insert(event: NewEvent, now: number): StoredEvent {
    const { event_id, source, body_sha256, skip, issue_sha256 = null } = event;
    const { facts, key, state, due_at } = columnsOf(event, now);
    const { lastInsertRowid } = this.#statements.insert.run(
      ...[event_id, source, body_sha256, facts, key, state, now, now, due_at],
      ...[skip?.code ?? null, skip?.message ?? null, issue_sha256],
    );
    return this.bySeq(Number(lastInsertRowid));
  }

  /** What came again, judged by what is configured now. It keeps its place, its id, and the bytes that it is known by. */
  replace({ seq }: StoredEvent, event: NewEvent, now: number): StoredEvent {
    const { skip, issue_sha256 = null } = event;
    const { facts, key, state, due_at } = columnsOf(event, now);
    this.#statements.replace.run(
      ...[facts, key, state, now, due_at],
      ...[skip?.code ?? null, skip?.message ?? null, issue_sha256, seq],
    );
    return this.bySeq(seq);
  }

  byId(eventId: string): StoredEvent | null {
    return found(this.#statements.byId.get(eventId));
  }

  /**
   * The event whose planning this one would only repeat: the last of its issue, which said the same, and waits, is planned, or was
   * planned since. A forge reports a new issue and each of its labels within a second.
   */
  coveringOf({ target, issue_sha256, skip, replan = false }: NewEvent, since: number): StoredEvent | null {
    if (target === null || skip !== null || issue_sha256 == null || replan) return null;
    const last = this.lastOfIssue(target);
    if (last === null || last.issue_sha256 !== issue_sha256 || last.state === 'dead') return null;
    return last.state !== 'done' || last.changed_at >= since ? last : null;
  }

  /** The newest event of an issue, of those that contain all that it says and were not skipped. */
  lastOfIssue(target: EventTarget): StoredEvent | null {
    return found(this.#statements.lastOfIssue.get(targetKey(target)));
  }

  /** The event that took up what this delivery says, before it came: the issue was no older then. */
  takenUpBefore({ target, issue_sha256, skip, replan = false, content, by }: NewEvent): StoredEvent | null {
    if (target === null || skip !== null || issue_sha256 == null || by === takenUpBySync) return null;
    const taken = found(this.#statements.lastTakenUp.get(targetKey(target)));
    if (taken === null) return null;
    const later = Date.parse(taken.content.occurred_at) - Date.parse(content.occurred_at);
    const same = replan || taken.issue_sha256 === issue_sha256;
    return later > 0 || (later === 0 && same) ? taken : null;
  }

  bySeq(seq: number): StoredEvent {
    return found(this.#statements.bySeq.get(seq))!;
  }

  /** A delivery of a forge that had the same bytes. */
  byBody(source: EventSource, sha256: string): StoredEvent | null {
    return found(this.#statements.byBody.get(source, sha256));
  }
}

function prepare(db: DatabaseSync) {
  const ofIssue = `
    SELECT * FROM events INDEXED BY events_by_issue WHERE target = ? AND issue_sha256 IS NOT NULL`;
  return {
    insert: db.prepare(`
      INSERT INTO events (event_id, source, body_sha256, facts, target, state, received_at, changed_at, due_at, reason_code, reason, issue_sha256)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    replace: db.prepare(`
      UPDATE events SET facts = ?, target = ?, state = ?, changed_at = ?, due_at = ?, reason_code = ?, reason = ?,
        issue_sha256 = ?
      WHERE seq = ?`),
    byId: db.prepare('SELECT * FROM events WHERE event_id = ?'),
    byBody: db.prepare(
      "SELECT * FROM events WHERE source = ? AND body_sha256 = ? AND source NOT IN ('dashboard', 'schedule')",
    ),
    bySeq: db.prepare('SELECT * FROM events WHERE seq = ?'),
    lastOfIssue: db.prepare(`${ofIssue} AND state <> 'skipped' ORDER BY seq DESC LIMIT 1`),
    lastTakenUp: db.prepare(`${ofIssue} AND state NOT IN ('skipped', 'dead')
      AND json_extract(facts, '$.by') = '${takenUpBySync}' ORDER BY seq DESC LIMIT 1`),
  };
}

function columnsOf({ content, target, role, notes, by, skip }: NewEvent, now: number) {
  const facts: Facts = { content, target, role, notes, by };
  return {
    facts: JSON.stringify(facts),
    key: target === null ? null : targetKey(target),
    state: skip === null ? ('pending' as const) : ('skipped' as const),
    due_at: skip === null ? now : null,
  };
}

function found(row: unknown): StoredEvent | null {
  return row === undefined ? null : storedEvent(row);
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

/** Issues are planned one event at a time. */
export function targetKey({ forge, owner, repo, number }: EventTarget): string {
  return `${forge ?? ''}/${owner}/${repo}#${number}`.toLowerCase();
}
