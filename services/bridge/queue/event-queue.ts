import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { EventState, EventTarget } from '#kit/contracts/bridge/events.ts';
import { eventStates } from '#kit/contracts/bridge/vocabulary.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, InvalidInput, NotFound } from '#kit/errors.ts';
import { findSecrets, Redactor } from '#kit/redaction.ts';
import { WriteBatch } from '#kit/storage/write-batch.ts';
import { type AcceptedEvent, acceptEvent } from './accept-event.ts';
import { type BridgeDatabase, queueError } from './bridge-database.ts';
import { EventRows, storedEvent, targetKey } from './event-rows.ts';
import type { NewEvent, Reason, StoredEvent } from './stored-event.ts';

/** The right to process one event, for a while. */
export interface Claim {
  readonly event: StoredEvent;
  readonly token: string;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  readonly next_cursor: string | null;
}

export interface EventQuery {
  /** Left out: of any state, newest first. Pending ones come in the order of their arrival. */
  readonly state?: EventState;
  readonly limit: number;
  readonly cursor?: string;
}

/** No retry waits longer: what is due later was put off by a clock that was set back since. */
const mostAheadMs = 36 * 3_600_000;
/** No lease is longer, in milliseconds, unless one asks for it. */
const longestLeaseMs = 6 * 3_600_000;

/** The durable queue of events. Every change is on the disk when its method returns or resolves. */
export class EventQueue {
  readonly #path: string;
  readonly #rows: EventRows;
  readonly #batch: WriteBatch;
  readonly #sameContentMs: number;
  readonly #now: () => number;
  readonly #redactor = new Redactor();
  readonly #statements: ReturnType<typeof prepare>;

  /** @param sameContentMs see `EventRows.coveringOf` */
  constructor({ db, path }: BridgeDatabase, now: () => number = Date.now, sameContentMs = 600_000) {
    this.#path = path;
    this.#now = now;
    this.#rows = new EventRows(db);
    this.#sameContentMs = sameContentMs;
    this.#batch = new WriteBatch(db, {
      committed: () => crashPoint('bridge.event_stored'),
      explain: (error) => queueError(error, path),
    });
    this.#statements = prepare(db);
  }

  /**
   * What the event tells is kept without secrets.
   * @throws InvalidInput (`event_id_holds_secret`), Conflict (`event_id_reused`), Unavailable (`disk_full`)
   */
  async accept(event: NewEvent): Promise<AcceptedEvent> {
    refuseSecretId(event);
    const { content, notes, skip } = event;
    const masked = { ...event, ...this.#redactor.redactDeep({ content, notes, skip }) };
    return this.#batch.write(() =>
      acceptEvent(this.#rows, masked, { now: this.#now(), sameContentMs: this.#sameContentMs }),
    );
  }

  /**
   * Takes an event so that nobody else does, until it is ended or the lease is over: the one that is due longest, and whose issue
   * no other event is processed for.
   * @param eventId this one alone, also before its time
   * @returns null where none is due, or another event of the issue of this one is processed
   * @throws NotFound (`event_not_found`), Conflict (`event_not_pending`)
   */
  claim(leaseMs: number, eventId?: string): Claim | null {
    const now = this.#now();
    const token = randomUUID();
    const { reclaim, claimNext, claimOne } = this.#statements;
    return this.#write(() => {
      reclaim.run(now, now, now, now + Math.max(longestLeaseMs, 2 * leaseMs));
      const row =
        eventId === undefined
          ? (claimNext.get(token, now + leaseMs, now, 0, now) ??
            claimNext.get(token, now + leaseMs, now, now + mostAheadMs, Number.MAX_SAFE_INTEGER))
          : claimOne.get(token, now + leaseMs, now, eventId);
      if (row !== undefined) return { event: storedEvent(row), token };
      if (eventId !== undefined && this.get(eventId).state !== 'pending') throw this.#notPending(eventId);
      return null;
    });
  }

  /** Each ends a claim; false where it had been lost meanwhile, and nothing was changed. */
  done(claim: Claim, runId: string): boolean {
    const { done } = this.#statements;
    return this.#write(() => done.run(runId, this.#now(), claim.event.seq, claim.token).changes === 1);
  }

  /** Pending again at `retryAt`. */
  failed(claim: Claim, reason: Reason, retryAt: number): boolean {
    const { failed } = this.#statements;
    const { code, message } = this.#redactor.redactDeep(reason);
    return this.#write(
      () => failed.run(code, message, retryAt, this.#now(), claim.event.seq, claim.token).changes === 1,
    );
  }

  /** Pending again at `retryAt`; no attempt is counted. */
  postponed(claim: Claim, reason: Reason, retryAt: number): boolean {
    const { postponed } = this.#statements;
    const { code, message } = this.#redactor.redactDeep(reason);
    return this.#write(
      () => postponed.run(code, message, retryAt, this.#now(), claim.event.seq, claim.token).changes === 1,
    );
  }

  /** @param runId of a run that was made and failed */
  dead(claim: Claim, reason: Reason, runId: string | null): boolean {
    const { dead } = this.#statements;
    const { code, message } = this.#redactor.redactDeep(reason);
    return this.#write(
      () => dead.run(code, message, runId, this.#now(), claim.event.seq, claim.token).changes === 1,
    );
  }

  /** Not tried again, and nobody is to be told of it. */
  skipped(claim: Claim, reason: Reason): boolean {
    const { skipped } = this.#statements;
    const { code, message } = this.#redactor.redactDeep(reason);
    return this.#write(
      () => skipped.run(code, message, this.#now(), claim.event.seq, claim.token).changes === 1,
    );
  }

  /** Pending again at once, as if it had not been taken. */
  release(claim: Claim): boolean {
    const { release } = this.#statements;
    const now = this.#now();
    return this.#write(() => release.run(now, now, claim.event.seq, claim.token).changes === 1);
  }

  /** A dead event, once more from the beginning. @throws NotFound (`event_not_found`), Conflict (`event_not_dead`) */
  revive(eventId: string): StoredEvent {
    const now = this.#now();
    const row = this.#write(() => this.#statements.revive.get(now, now, eventId));
    if (row !== undefined) return storedEvent(row);
    const { state, reason } = this.get(eventId);
    const why = state === 'skipped' && reason !== null ? ` (${reason.message})` : '';
    throw new Conflict(
      'event_not_dead',
      `event ${JSON.stringify(eventId)} is ${state}${why}: only a dead one can be tried again`,
      state === 'skipped'
        ? {
            hint: 'Mend what the reason names, start the bridge again, and send the event once more: it is judged anew.',
          }
        : {},
    );
  }

  /** @throws NotFound (`event_not_found`) */
  get(eventId: string): StoredEvent {
    const event = this.#rows.byId(eventId);
    if (event !== null) return event;
    throw new NotFound('event_not_found', `there is no event ${JSON.stringify(eventId.slice(0, 200))}`);
  }

  /** The newest event of an issue, of those that tell all that it says and were not skipped. */
  lastOfIssue(target: EventTarget): StoredEvent | null {
    return this.#rows.lastOfIssue(target);
  }

  /** The event that led to a run. */
  ofRun(runId: string): StoredEvent | null {
    const row = this.#statements.ofRun.get(runId);
    return row === undefined ? null : storedEvent(row);
  }

  /** The event that an issue is planned for now; a run of it has just begun. */
  underWayFor({
    forge,
    ...issue
  }: Pick<RunSummary, 'forge' | 'owner' | 'repo' | 'number'>): StoredEvent | null {
    const keys = [targetKey({ forge, ...issue }), targetKey({ forge: null, ...issue })] as const;
    const row = this.#statements.underWay.get(...keys);
    return row === undefined ? null : storedEvent(row);
  }

  /** @throws InvalidInput (`invalid_cursor`) */
  list({ state, limit, cursor }: EventQuery): EventPage {
    const oldestFirst = state === 'pending';
    const from = cursor === undefined ? (oldestFirst ? 0 : Number.MAX_SAFE_INTEGER) : seqOf(cursor);
    const { page, pageOfState, pendingPage } = this.#statements;
    const rows =
      state === undefined
        ? page.all(from, limit + 1)
        : oldestFirst
          ? pendingPage.all(from, limit + 1)
          : pageOfState.all(state, from, limit + 1);
    const events = rows.slice(0, limit).map(storedEvent);
    const last = rows.length > limit ? events.at(-1) : undefined;
    return { events, next_cursor: last === undefined ? null : cursorOf(last.seq) };
  }

  /** How many died since a time, in milliseconds since 1970. */
  diedSince(time: number): number {
    return (this.#statements.diedSince.get(time) as { n: number }).n;
  }

  counts(): Readonly<Record<EventState, number>> {
    const rows = this.#statements.counts.all() as { state: EventState; n: number }[];
    const none = Object.fromEntries(eventStates.map((state) => [state, 0])) as Record<EventState, number>;
    return { ...none, ...Object.fromEntries(rows.map(({ state, n }) => [state, n])) };
  }

  /** When the event came that is pending longest, in milliseconds since 1970; null where none is. */
  oldestPending(): number | null {
    const row = this.#statements.oldestPending.get() as { received_at: number } | undefined;
    return row?.received_at ?? null;
  }

  /** When the next event can be claimed; null where none is pending. */
  nextDue(): number | null {
    return (this.#statements.nextDue.get() as { due: number | null }).due;
  }

  /** What keeps events from being stored; null where nothing does. */
  get problem(): unknown {
    return this.#batch.problem;
  }

  #notPending(eventId: string): Error {
    const { state } = this.get(eventId);
    return new Conflict(
      'event_not_pending',
      `event ${JSON.stringify(eventId)} is ${state}: only a pending one can be processed`,
    );
  }

  #write<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw queueError(error, this.#path);
    }
  }
}

function prepare(db: DatabaseSync) {
  const own = "WHERE seq = ? AND claim = ? AND state = 'processing'";
  const free = 'claim = NULL, claimed_until = NULL';
  // An event of a smoke test is found by its id alone.
  const listed = `coalesce(target, '') NOT LIKE '${smokeForge.name}/%'`;
  const take =
    "UPDATE events SET state = 'processing', claim = ?, claimed_until = ?, changed_at = ?, due_at = NULL";
  return {
    reclaim: db.prepare(
      `UPDATE events SET state = 'pending', due_at = ?, changed_at = ?, ${free} WHERE state = 'processing' AND (claimed_until < ? OR claimed_until > ?)`,
    ),
    claimNext: db.prepare(`
      ${take} WHERE seq = (
        SELECT seq FROM events INDEXED BY events_due WHERE state = 'pending' AND due_at BETWEEN ? AND ?
          AND target NOT IN (SELECT target FROM events WHERE state = 'processing')
        ORDER BY due_at, seq LIMIT 1)
      RETURNING *`),
    claimOne: db.prepare(`
      ${take} WHERE event_id = ? AND state = 'pending'
        AND target NOT IN (SELECT target FROM events WHERE state = 'processing')
      RETURNING *`),
    done: db.prepare(
      `UPDATE events SET state = 'done', run_id = ?, changed_at = ?, reason_code = NULL, reason = NULL, ${free} ${own}`,
    ),
    failed: db.prepare(
      `UPDATE events SET state = 'pending', attempts = attempts + 1, reason_code = ?, reason = ?, due_at = ?, changed_at = ?, ${free} ${own}`,
    ),
    postponed: db.prepare(
      `UPDATE events SET state = 'pending', reason_code = ?, reason = ?, due_at = ?, changed_at = ?, ${free} ${own}`,
    ),
    dead: db.prepare(
      `UPDATE events SET state = 'dead', attempts = attempts + 1, reason_code = ?, reason = ?, run_id = ?, changed_at = ?, ${free} ${own}`,
    ),
    skipped: db.prepare(
      `UPDATE events SET state = 'skipped', attempts = attempts + 1, reason_code = ?, reason = ?, changed_at = ?, ${free} ${own}`,
    ),
    release: db.prepare(`UPDATE events SET state = 'pending', due_at = ?, changed_at = ?, ${free} ${own}`),
    revive: db.prepare(`
      UPDATE events SET state = 'pending', attempts = 0, due_at = ?, changed_at = ?, reason_code = NULL, reason = NULL,
        generation = generation + (run_id IS NOT NULL), run_id = NULL
      WHERE event_id = ? AND state = 'dead' RETURNING *`),
    ofRun: db.prepare('SELECT * FROM events WHERE run_id = ? ORDER BY seq LIMIT 1'),
    underWay: db.prepare("SELECT * FROM events WHERE state = 'processing' AND target IN (?, ?) LIMIT 1"),
    page: db.prepare(`SELECT * FROM events WHERE seq < ? AND ${listed} ORDER BY seq DESC LIMIT ?`),
    pageOfState: db.prepare(
      `SELECT * FROM events WHERE state = ? AND seq < ? AND ${listed} ORDER BY seq DESC LIMIT ?`,
    ),
    pendingPage: db.prepare(
      `SELECT * FROM events WHERE state = 'pending' AND seq > ? AND ${listed} ORDER BY seq LIMIT ?`,
    ),
    counts: db.prepare('SELECT state, count(*) AS n FROM events GROUP BY state'),
    oldestPending: db.prepare("SELECT received_at FROM events WHERE state = 'pending' ORDER BY seq LIMIT 1"),
    diedSince: db.prepare(
      "SELECT count(*) AS n FROM events WHERE state = 'dead' AND changed_at > ? AND state IN ('done', 'skipped', 'dead')",
    ),
    nextDue: db.prepare(
      "SELECT min(due_at) AS due FROM events INDEXED BY events_due WHERE state = 'pending'",
    ),
  };
}

/** An id names its event in answers, logs and lists, and cannot be masked: the masked one would name another. */
function refuseSecretId({ event_id, source }: NewEvent): void {
  const [found] = findSecrets(event_id);
  if (found === undefined) return;
  throw new InvalidInput(
    'event_id_holds_secret',
    `the id of an event from ${source} holds what looks like a secret (${found.kind}): an id is kept and shown, so it must hold none`,
  );
}

function cursorOf(seq: number): string {
  return Buffer.from(`e${seq}`).toString('base64url');
}

function seqOf(cursor: string): number {
  const [, digits] = /^e(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (digits !== undefined) return Number(digits);
  throw new InvalidInput(
    'invalid_cursor',
    `cursor ${JSON.stringify(cursor.slice(0, 80))} is none of ours; leave it out to start at the beginning`,
  );
}
