import type { DatabaseSync } from 'node:sqlite';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { EventState, EventTarget } from '#kit/contracts/bridge/events.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, InvalidInput, NotFound } from '#kit/errors.ts';
import { DurableQueue, type JobClaim, type JobTable } from '#kit/jobs/durable-queue.ts';
import { findSecrets, Redactor } from '#kit/redaction/redactor.ts';
import { transaction } from '#kit/storage/database.ts';
import { WriteBatch } from '#kit/storage/write-batch.ts';
import type { BridgeConfig } from '../configuration.ts';
import {
  type AcceptedEvent,
  acceptEvent,
  eventById,
  lastOfIssue,
  selectEvents,
  storedEvent,
  targetKey,
} from './accept-event.ts';
import { type BridgeDatabase, queueError } from './bridge-database.ts';
import type { NewEvent, Reason, StoredEvent } from './stored-event.ts';

export interface Claim extends JobClaim {
  readonly event: StoredEvent;
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

const jobs: JobTable = {
  name: 'events',
  // One event of an issue is planned at a time.
  ready: "target NOT IN (SELECT target FROM events WHERE state = 'processing')",
  dueIndex: 'events_due',
};

export type QueueConfig = Pick<
  BridgeConfig['processing'],
  'attempts' | 'first_retry_seconds' | 'most_retry_seconds' | 'same_content_seconds'
>;

/** The durable queue of events. Every change is on the disk when its method returns or resolves. */
export class EventQueue {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #jobs: DurableQueue;
  readonly #batch: WriteBatch;
  readonly #sameContentMs: number;
  readonly #now: () => number;
  readonly #redactor = new Redactor();

  constructor({ db, path }: BridgeDatabase, config: QueueConfig, now: () => number = Date.now) {
    const { attempts, first_retry_seconds: first, most_retry_seconds: max } = config;
    this.#db = db;
    this.#path = path;
    this.#now = now;
    this.#jobs = new DurableQueue(db, jobs, { attempts, first, max }, now);
    this.#sameContentMs = config.same_content_seconds * 1000;
    this.#batch = new WriteBatch(db, {
      committed: () => crashPoint('bridge.event_stored'),
      explain: (error) => queueError(error, path),
    });
  }

  /**
   * What the event says is kept without secrets.
   * @throws InvalidInput (`event_id_holds_secret`), Conflict (`event_id_reused`), Unavailable (`disk_full`)
   */
  async accept(event: NewEvent): Promise<AcceptedEvent> {
    refuseSecretId(event);
    const { content, notes, skip } = event;
    const masked = { ...event, ...this.#redactor.redactDeep({ content, notes, skip }) };
    return this.#batch.write(() =>
      acceptEvent(this.#db, masked, { now: this.#now(), sameContentMs: this.#sameContentMs }),
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
    return this.#write(() => {
      const named = eventId === undefined ? {} : { event_id: eventId };
      const taken = this.#jobs.claim(leaseMs, named, eventId !== undefined);
      if (taken !== null) return { ...taken.claim, event: storedEvent(taken.row) };
      const state = eventId === undefined ? 'pending' : this.get(eventId).state;
      if (state === 'pending') return null;
      throw new Conflict(
        'event_not_pending',
        `event ${JSON.stringify(eventId)} is ${state}: only a pending one can be processed`,
      );
    });
  }

  /** Each ends a claim; false where it had been lost meanwhile, and nothing was changed. */
  done(claim: Claim, runId: string): boolean {
    return this.#write(() => this.#jobs.done(claim, { run_id: runId }));
  }

  /** Pending again after a while, or dead after the last attempt. */
  failed(claim: Claim, reason: Reason): boolean {
    return this.#write(() => this.#jobs.failed(claim, this.#redactor.redactDeep(reason)));
  }

  /** Pending again after so many seconds; no attempt is counted. */
  postponed(claim: Claim, reason: Reason, seconds: number): boolean {
    return this.#write(() => this.#jobs.postponed(claim, this.#redactor.redactDeep(reason), seconds));
  }

  /** @param runId of a run that was made and failed */
  dead(claim: Claim, reason: Reason, runId: string | null): boolean {
    return this.#write(() => this.#jobs.dead(claim, this.#redactor.redactDeep(reason), { run_id: runId }));
  }

  /** Not tried again, and not reported as a failure. */
  skipped(claim: Claim, reason: Reason): boolean {
    return this.#write(() => this.#jobs.skipped(claim, this.#redactor.redactDeep(reason)));
  }

  /** Pending again at once, as if it had not been taken. */
  release(claim: Claim): boolean {
    return this.#write(() => this.#jobs.release(claim));
  }

  /** A dead event, once more from the beginning. @throws NotFound (`event_not_found`), Conflict (`event_not_dead`) */
  revive(eventId: string): StoredEvent {
    const revived = this.#write(() =>
      transaction(this.#db, () => {
        const { length } = this.#jobs.revive({ event_id: eventId });
        // A run that failed is not joined: the event gets another one.
        this.#db
          .prepare(
            "UPDATE events SET generation = generation + 1, run_id = NULL WHERE event_id = ? AND state = 'pending' AND run_id IS NOT NULL",
          )
          .run(eventId);
        return length > 0;
      }),
    );
    const event = this.get(eventId);
    if (revived) return event;
    const { state, reason } = event;
    const why = state === 'skipped' && reason !== null ? ` (${reason.message})` : '';
    const hint =
      'Mend what the reason names, start the bridge again, and send the event again; it is checked again.';
    throw new Conflict(
      'event_not_dead',
      `event ${JSON.stringify(eventId)} is ${state}${why}: only a dead one can be tried again`,
      state === 'skipped' ? { hint } : {},
    );
  }

  /** @throws NotFound (`event_not_found`) */
  get(eventId: string): StoredEvent {
    const event = eventById(this.#db, eventId);
    if (event !== null) return event;
    throw new NotFound('event_not_found', `there is no event ${JSON.stringify(eventId.slice(0, 200))}`);
  }

  /** The newest event of an issue, of those that contain all that it says and were not skipped. */
  lastOfIssue(target: EventTarget): StoredEvent | null {
    return lastOfIssue(this.#db, target);
  }

  ofRun(runId: string): StoredEvent | null {
    return selectEvents(this.#db, 'WHERE run_id = ? ORDER BY seq LIMIT 1', runId)[0] ?? null;
  }

  /** The event that an issue is planned for now; a run of it has just begun. */
  underWayFor(run: Pick<RunSummary, 'forge' | 'owner' | 'repo' | 'number'>): StoredEvent | null {
    const { number } = run;
    if (number === null) return null;
    const keys = [targetKey({ ...run, number }), targetKey({ ...run, number, forge: null })];
    const rest = "WHERE state = 'processing' AND target IN (?, ?) LIMIT 1";
    return selectEvents(this.#db, rest, ...keys)[0] ?? null;
  }

  /** @throws InvalidInput (`invalid_cursor`) */
  list({ state, limit, cursor }: EventQuery): EventPage {
    const oldestFirst = state === 'pending';
    const from = cursor === undefined ? (oldestFirst ? 0 : Number.MAX_SAFE_INTEGER) : seqOf(cursor);
    const [than, order] = oldestFirst ? ['>', 'ASC'] : ['<', 'DESC'];
    // An event of a smoke test is found by its id alone.
    const listed = `coalesce(target, '') NOT LIKE '${smokeForge.name}/%'`;
    const wanted = state === undefined ? { sql: '', values: [] } : { sql: 'state = ? AND', values: [state] };
    const rest = `WHERE ${wanted.sql} seq ${than} ? AND ${listed} ORDER BY seq ${order} LIMIT ?`;
    const found = selectEvents(this.#db, rest, ...wanted.values, from, limit + 1);
    const events = found.slice(0, limit);
    const last = found.length > limit ? events.at(-1) : undefined;
    return { events, next_cursor: last === undefined ? null : cursorOf(last.seq) };
  }

  /** How many died since a time, in milliseconds since 1970. */
  diedSince(time: number): number {
    const row = this.#db
      .prepare(
        "SELECT count(*) AS n FROM events WHERE state = 'dead' AND changed_at > ? AND state IN ('done', 'skipped', 'dead')",
      )
      .get(time);
    return (row as { n: number }).n;
  }

  counts(): Readonly<Record<EventState, number>> {
    return { pending: 0, processing: 0, done: 0, skipped: 0, dead: 0, ...this.#jobs.counts() };
  }

  /** When the event came that is pending longest, in milliseconds since 1970; null where none is. */
  oldestPending(): number | null {
    const rest = "WHERE state = 'pending' ORDER BY seq LIMIT 1";
    return selectEvents(this.#db, rest)[0]?.received_at ?? null;
  }

  /** When the next event can be claimed; null where none is pending. */
  nextDue(): number | null {
    return this.#jobs.nextDue();
  }

  /** What keeps events from being stored; null where nothing does. */
  get problem(): unknown {
    return this.#batch.problem;
  }

  #write<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw queueError(error, this.#path);
    }
  }
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
    `cursor ${JSON.stringify(cursor.slice(0, 80))} is unknown; leave it out to start at the beginning`,
  );
}
