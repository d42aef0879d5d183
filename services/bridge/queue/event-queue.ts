import type { EventState, EventTarget } from '#kit/contracts/bridge/events.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { Conflict, InvalidInput, NotFound } from '#kit/errors.ts';
import type { DatabaseJobs, Due, JobClaim } from '#kit/jobs/database-jobs.ts';
import { DurableQueue } from '#kit/jobs/durable-queue.ts';
import { findSecrets, Redactor } from '#kit/redaction/redactor.ts';
import type { BridgeConfig } from '../configuration.ts';
import { type AcceptedEvent, storedEvent, targetKey } from './accept-event.ts';
import type { EventBacklog, EventRows } from './event-rows.ts';
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

export type QueueConfig = Pick<
  BridgeConfig['processing'],
  'attempts' | 'first_retry_seconds' | 'most_retry_seconds' | 'same_content_seconds'
>;

export interface EventStorage {
  readonly events: EventRows;
  readonly eventJobs: DatabaseJobs;
}

/** The durable queue of events. Every change is durable when its promise resolves. */
export class EventQueue {
  readonly #rows: EventRows;
  readonly #jobs: DurableQueue;
  readonly #sameContentMs: number;
  readonly #redactor = new Redactor();

  constructor({ events, eventJobs }: EventStorage, config: QueueConfig) {
    const { attempts, first_retry_seconds: first, most_retry_seconds: max } = config;
    this.#rows = events;
    this.#jobs = new DurableQueue(eventJobs, { attempts, first, max });
    this.#sameContentMs = config.same_content_seconds * 1000;
  }

  /**
   * What the event says is kept without secrets.
   * @throws InvalidInput (`event_id_holds_secret`, `event_target_holds_secret`), Conflict (`event_id_reused`), Unavailable (`disk_full` on PostgreSQL, `database_unavailable`), DatabaseDiskFull
   */
  async accept(event: NewEvent): Promise<AcceptedEvent> {
    refuseSecretNames(event);
    const { content, notes, skip } = event;
    const masked = { ...event, ...this.#redactor.redactDeep({ content, notes, skip }) };
    return this.#rows.accept(masked, this.#sameContentMs);
  }

  /**
   * Takes an event so that nobody else does, until it is ended or the lease is over: the one that is due longest, and whose issue
   * no other event is processed for.
   * @param eventId this one alone, also before its time
   * @returns null where none is due, or another event of the issue of this one is processed
   * @throws NotFound (`event_not_found`), Conflict (`event_not_pending`)
   */
  async claim(leaseMs: number, eventId?: string): Promise<Claim | null> {
    const named = eventId === undefined ? {} : { event_id: eventId };
    const taken = await this.#jobs.claim(leaseMs, named, eventId !== undefined);
    if (taken !== null) return { ...taken.claim, event: storedEvent(taken.row) };
    const state = eventId === undefined ? 'pending' : (await this.get(eventId)).state;
    if (state === 'pending') return null;
    throw new Conflict(
      'event_not_pending',
      `event ${JSON.stringify(eventId)} is ${state}: only a pending one can be processed`,
    );
  }

  /** Each ends a claim; false where it had been lost meanwhile, and nothing was changed. */
  done(claim: Claim, runId: string): Promise<boolean> {
    return this.#jobs.done(claim, { run_id: runId });
  }

  /** Pending again after a while, or dead after the last attempt. */
  failed(claim: Claim, reason: Reason): Promise<boolean> {
    return this.#jobs.failed(claim, this.#redactor.redactDeep(reason));
  }

  /** Pending again after so many seconds; no attempt is counted. */
  postponed(claim: Claim, reason: Reason, seconds: number): Promise<boolean> {
    return this.#jobs.postponed(claim, this.#redactor.redactDeep(reason), seconds);
  }

  /** @param runId of a run that was made and failed */
  dead(claim: Claim, reason: Reason, runId: string | null): Promise<boolean> {
    return this.#jobs.dead(claim, this.#redactor.redactDeep(reason), { run_id: runId });
  }

  /** Not tried again, and not reported as a failure. */
  skipped(claim: Claim, reason: Reason): Promise<boolean> {
    return this.#jobs.skipped(claim, this.#redactor.redactDeep(reason));
  }

  /** Pending again at once, as if it had not been taken. */
  release(claim: Claim): Promise<boolean> {
    return this.#jobs.release(claim);
  }

  /** A dead event, once more from the beginning. @throws NotFound (`event_not_found`), Conflict (`event_not_dead`) */
  async revive(eventId: string): Promise<StoredEvent> {
    const revived = await this.#jobs.revive({ event_id: eventId });
    const event = await this.get(eventId);
    if (revived > 0) return event;
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
  async get(eventId: string): Promise<StoredEvent> {
    const event = await this.#rows.byId(eventId);
    if (event !== null) return event;
    throw new NotFound('event_not_found', `there is no event ${JSON.stringify(eventId.slice(0, 200))}`);
  }

  /** The newest event of an issue, of those that contain all that it says and were not skipped. */
  lastOfIssue(target: EventTarget): Promise<StoredEvent | null> {
    return this.#rows.lastOfIssue(targetKey(target));
  }

  ofRun(runId: string): Promise<StoredEvent | null> {
    return this.#rows.ofRun(runId);
  }

  /** The event that an issue is planned for now; a run of it has just begun. */
  async underWayFor(
    run: Pick<RunSummary, 'forge' | 'owner' | 'repo' | 'number'>,
  ): Promise<StoredEvent | null> {
    const { number } = run;
    if (number === null) return null;
    return this.#rows.processing([targetKey({ ...run, number }), targetKey({ ...run, number, forge: null })]);
  }

  /** @throws InvalidInput (`invalid_cursor`) */
  async list({ state, limit, cursor }: EventQuery): Promise<EventPage> {
    const oldestFirst = state === 'pending';
    const after = cursor === undefined ? null : seqOf(cursor);
    const found = await this.#rows.page({ state, oldestFirst, after, limit: limit + 1 });
    const events = found.slice(0, limit);
    const last = found.length > limit ? events.at(-1) : undefined;
    return { events, next_cursor: last === undefined ? null : cursorOf(last.seq) };
  }

  async counts(): Promise<Readonly<Record<EventState, number>>> {
    return { pending: 0, processing: 0, done: 0, skipped: 0, dead: 0, ...(await this.#jobs.counts()) };
  }

  /** How the pending events wait, and how many died lately. */
  backlog(diedWithinMs: number): Promise<EventBacklog> {
    return this.#rows.backlog(diedWithinMs);
  }

  /** When the next event can be claimed; null where none is pending. */
  nextDue(): Promise<Due | null> {
    return this.#jobs.nextDue();
  }

  /** What keeps events from being stored; null where nothing does. */
  get problem(): unknown {
    return this.#rows.problem;
  }
}

/** Ids and targets name things in answers, logs and requests, and cannot be masked: the masked name would be another. */
function refuseSecretNames({ event_id, source, target }: NewEvent): void {
  refuseSecret(event_id, 'event_id_holds_secret', `the id of an event from ${source}`);
  for (const name of target === null ? [] : [target.owner, target.repo])
    refuseSecret(name, 'event_target_holds_secret', `the repository of an event from ${source}`);
}

/** @throws InvalidInput */
function refuseSecret(text: string, code: string, what: string): void {
  const [found] = findSecrets(text);
  if (found === undefined) return;
  throw new InvalidInput(
    code,
    `${what} holds what looks like a secret (${found.kind}): it is stored and shown, so it must hold none`,
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
