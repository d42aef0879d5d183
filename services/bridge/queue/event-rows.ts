import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EventRole, EventSource, EventState, EventTarget } from '#kit/contracts/bridge/events.ts';
import { type EventContent, type NewEvent, type StoredEvent, takenUpBySync } from './stored-event.ts';

interface Row {
  readonly seq: number;
  readonly event_id: string;
  readonly source: EventSource;
  readonly body_sha256: string;
  readonly facts: string;
  readonly target: string | null;
  readonly state: EventState;
  readonly received_at: number;
  readonly changed_at: number;
  readonly attempts: number;
  readonly generation: number;
  readonly due_at: number | null;
  readonly claim: string | null;
  readonly claimed_until: number | null;
  readonly run_id: string | null;
  readonly reason_code: string | null;
  readonly reason: string | null;
  readonly issue_sha256: string | null;
}

interface Facts {
  readonly content: EventContent;
  readonly target: EventTarget | null;
  readonly role: EventRole | null;
  readonly notes: readonly string[];
  readonly by: string;
}

/** Events as rows of the queue. */
export class EventRows {
  readonly #insert: StatementSync;
  readonly #replace: StatementSync;
  readonly #byId: StatementSync;
  readonly #byBody: StatementSync;
  readonly #bySeq: StatementSync;
  readonly #lastOfIssue: StatementSync;
  readonly #lastTakenUp: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(`
      INSERT INTO events (event_id, source, body_sha256, facts, target, state, received_at, changed_at, due_at, reason_code, reason, issue_sha256)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#replace = db.prepare(`
      UPDATE events SET facts = ?, target = ?, state = ?, changed_at = ?, due_at = ?, reason_code = ?, reason = ?,
        issue_sha256 = ?
      WHERE seq = ?`);
    this.#byId = db.prepare('SELECT * FROM events WHERE event_id = ?');
    this.#byBody = db.prepare(
      "SELECT * FROM events WHERE source = ? AND body_sha256 = ? AND source NOT IN ('dashboard', 'schedule')",
    );
    this.#bySeq = db.prepare('SELECT * FROM events WHERE seq = ?');
    this.#lastOfIssue = db.prepare(`
      SELECT * FROM events INDEXED BY events_by_issue
      WHERE target = ? AND issue_sha256 IS NOT NULL AND state <> 'skipped' ORDER BY seq DESC LIMIT 1`);
    this.#lastTakenUp = db.prepare(`
      SELECT * FROM events INDEXED BY events_by_issue
      WHERE target = ? AND issue_sha256 IS NOT NULL AND state NOT IN ('skipped', 'dead')
        AND json_extract(facts, '$.by') = '${takenUpBySync}' ORDER BY seq DESC LIMIT 1`);
  }

  insert(event: NewEvent, now: number): StoredEvent {
    const { event_id, source, body_sha256, content, target, role, skip, notes, by } = event;
    const { issue_sha256 = null } = event;
    const { facts, key, state, due_at } = columnsOf(event, now);
    const { lastInsertRowid } = this.#insert.run(
      ...[event_id, source, body_sha256, facts, key, state, now, now, due_at],
      ...[skip?.code ?? null, skip?.message ?? null, issue_sha256],
    );
    return {
      ...{ event_id, source, body_sha256, issue_sha256, content, target, role, notes, by, state, due_at },
      seq: Number(lastInsertRowid),
      received_at: now,
      changed_at: now,
      attempts: 0,
      generation: 0,
      run_id: null,
      reason: skip,
    };
  }

  /** What came again, judged by what is configured now. It keeps its place, its id, and the bytes that it is known by. */
  replace({ seq }: StoredEvent, event: NewEvent, now: number): StoredEvent {
    const { skip, issue_sha256 = null } = event;
    const { facts, key, state, due_at } = columnsOf(event, now);
    this.#replace.run(
      ...[facts, key, state, now, due_at],
      ...[skip?.code ?? null, skip?.message ?? null, issue_sha256, seq],
    );
    return this.bySeq(seq);
  }

  byId(eventId: string): StoredEvent | null {
    return found(this.#byId.get(eventId));
  }

  /**
   * The event whose planning this one would only repeat: the last of its issue, which said the same, and waits, is planned, or was
   * planned since. A forge tells of a new issue and of each of its labels within a second.
   */
  coveringOf({ target, issue_sha256, skip, replan = false }: NewEvent, since: number): StoredEvent | null {
    if (target === null || skip !== null || issue_sha256 == null || replan) return null;
    const last = this.lastOfIssue(target);
    if (last === null || last.issue_sha256 !== issue_sha256 || last.state === 'dead') return null;
    return last.state !== 'done' || last.changed_at >= since ? last : null;
  }

  /** The newest event of an issue, of those that tell all that it says and were not skipped. */
  lastOfIssue(target: EventTarget): StoredEvent | null {
    return found(this.#lastOfIssue.get(targetKey(target)));
  }

  /** The event that took up what this delivery tells, before it came: the issue was no older then. */
  takenUpBefore({ target, issue_sha256, skip, replan = false, content, by }: NewEvent): StoredEvent | null {
    if (target === null || skip !== null || issue_sha256 == null || by === takenUpBySync) return null;
    const taken = found(this.#lastTakenUp.get(targetKey(target)));
    if (taken === null) return null;
    const later = Date.parse(taken.content.occurred_at) - Date.parse(content.occurred_at);
    const same = replan || taken.issue_sha256 === issue_sha256;
    return later > 0 || (later === 0 && same) ? taken : null;
  }

  bySeq(seq: number): StoredEvent {
    return found(this.#bySeq.get(seq))!;
  }

  /** A delivery of a forge that had the same bytes. */
  byBody(source: EventSource, sha256: string): StoredEvent | null {
    return found(this.#byBody.get(source, sha256));
  }
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
  const told = JSON.parse(facts) as Facts;
  return {
    ...plain,
    ...told,
    reason: reason_code === null ? null : { code: reason_code, message: reason ?? '' },
  };
}

/** Issues are planned one event at a time. */
export function targetKey({ forge, owner, repo, number }: EventTarget): string {
  return `${forge ?? ''}/${owner}/${repo}#${number}`.toLowerCase();
}
