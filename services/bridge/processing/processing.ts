import { setTimeout as pause } from 'node:timers/promises';
import type { Bus } from '#kit/bus/bus.ts';
import { guarded, inBackground } from '#kit/callbacks.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { messageOf, Unavailable } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { BridgeConfig } from '../configuration.ts';
import type { ActorRights } from '../ingress/event-actor.ts';
import type { Claim, EventQueue } from '../queue/event-queue.ts';
import type { StoredEvent } from '../queue/stored-event.ts';
import { attemptPlanning, type Outcome } from './attempt.ts';

export interface ProcessingParts {
  readonly queue: EventQueue;
  readonly bus: Pick<Bus, 'call' | 'connected' | 'whenConnected'>;
  readonly config: Pick<BridgeConfig['processing'], 'automatic' | 'concurrency'>;
  readonly rights: ActorRights;
  /** Milliseconds for one attempt, calls that are repeated in it included. */
  readonly callMs: () => number;
  /** Milliseconds for which one attempt waits for a function that nobody provides. */
  readonly missingMs?: number;
  readonly logger: Logger;
  /** Called for every attempt that ended. */
  readonly ended: (event: StoredEvent, outcome: Outcome['kind'], seconds: number) => void;
  /** Aborted as soon as this process ends. */
  readonly ending?: AbortSignal;
  /** The queue is looked at this often, in milliseconds, whatever is known of it. */
  readonly lookMs: number;
}

/** A claim outlives its attempt by so much, in milliseconds. */
const leaseMarginMs = 60_000;
/** What is due and was not given out waits for another event of its issue: whoever plans that one may be another host. */
const blockedMs = 250;
/** Milliseconds that a caller waits for a bus that is just connecting. */
const connectMs = 2_000;
const storeAgainMs = 1_000;
/** An event that reached nobody is tried again after so long: the worker was away, or not started yet. */
const unreachedSeconds = 30;

/** Has events planned: those that somebody asks for one by one, and by itself where that is switched on. */
export class Processing {
  readonly #parts: ProcessingParts;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<StoredEvent>>();
  #automatic = false;
  #timer: NodeJS.Timeout | undefined;
  #underWay = 0;
  #looking: Promise<void> | null = null;
  #lookAgain = false;

  constructor(parts: ProcessingParts) {
    this.#parts = parts;
    parts.ending?.addEventListener('abort', () => this.#ending.abort(), { once: true });
  }

  /**
   * Takes the event that is due longest, or the named one, and has it planned.
   * @returns null where none is due; `ended` resolves with what became of it
   * @throws Unavailable (`bus_not_connected`), NotFound (`event_not_found`), Conflict (`event_not_pending`)
   */
  async take(eventId?: string): Promise<{ event: StoredEvent; ended: Promise<StoredEvent> } | null> {
    await this.#needBus();
    const claim = await this.#claim(eventId);
    return claim === null ? null : { event: claim.event, ended: this.#start(claim) };
  }

  /** Begins to process without being asked. */
  begin(): void {
    this.#automatic = this.#parts.config.automatic;
    this.wake();
  }

  /** There may be something to do: an event came, or the bus is back. */
  wake(): void {
    if (!this.#automatic || this.#ending.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      guarded('the processing of events', () => this.#look()),
      0,
    );
  }

  /** Calls that are under way end; their events are pending again. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#ending.abort();
    await this.#looking;
    await Promise.allSettled(this.#running);
  }

  async #needBus(): Promise<void> {
    const { bus } = this.#parts;
    if (bus.connected) return;
    try {
      await bus.whenConnected(connectMs);
    } catch (cause) {
      throw new Unavailable(
        'bus_not_connected',
        `nothing can be planned without the bus: ${messageOf(cause)}`,
        {
          cause,
          retryAfter: 5,
          hint: 'The events are kept. Start the bus: ./core up does.',
        },
      );
    }
  }

  /** One look at a time, so that no more is claimed than may be planned at once. */
  #look(): void {
    if (this.#looking !== null) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#lookOnce().then((wait) => {
      this.#looking = null;
      const again = this.#lookAgain;
      this.#lookAgain = false;
      if (again) this.wake();
      else this.#lookIn(wait);
    });
  }

  /** @returns milliseconds until the next look */
  async #lookOnce(): Promise<number> {
    const { queue, bus, config, logger, lookMs } = this.#parts;
    const isFree = () => bus.connected && this.#underWay < config.concurrency && !this.#ending.signal.aborted;
    try {
      while (isFree()) {
        const claim = await this.#claim();
        if (claim === null) break;
        this.#underWay++;
        inBackground('the processing of events', () =>
          this.#start(claim)
            .catch((error) => logger.warn('an event was not processed', { error }))
            .finally(() => {
              this.#underWay--;
              this.wake();
            }),
        );
      }
      const due = isFree() ? await queue.nextDue() : null;
      if (due === null) return lookMs;
      return due.inMs > 0 ? Math.max(50, due.inMs) : blockedMs;
    } catch (error) {
      logger.warn(`the queue cannot be processed: ${messageOf(error)}`, { error });
      return lookMs;
    }
  }

  #lookIn(wait: number): void {
    if (this.#ending.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      guarded('the processing of events', () => this.#look()),
      Math.min(this.#parts.lookMs, wait),
    );
    this.#timer.unref();
  }

  async #claim(eventId?: string): Promise<Claim | null> {
    const { queue, callMs } = this.#parts;
    const claim = await queue.claim(callMs() + leaseMarginMs, eventId);
    if (claim !== null) crashPoint('bridge.event_claimed');
    return claim;
  }

  #start(claim: Claim): Promise<StoredEvent> {
    const work = this.#process(claim);
    this.#running.add(work);
    void work.catch(() => {}).finally(() => this.#running.delete(work));
    return work;
  }

  async #process(claim: Claim): Promise<StoredEvent> {
    const { queue, bus, rights, callMs, missingMs, ended, logger } = this.#parts;
    const { event } = claim;
    const started = performance.now();
    const outcome = await attemptPlanning(bus, event, {
      rights,
      callMs: callMs(),
      missingMs,
      signal: this.#ending.signal,
    });
    crashPoint('bridge.event_planned');
    const kept = await this.#store(() => this.#record(claim, outcome));
    crashPoint('bridge.event_ended');
    if (!kept) logger.warn('the claim of an event was lost before its end', { event_id: event.event_id });
    const now = await queue.get(event.event_id);
    ended(now, outcome.kind, (performance.now() - started) / 1000);
    logger.info(`event ${now.state}`, {
      event_id: event.event_id,
      ...(now.run_id === null ? {} : { run_id: now.run_id }),
      ...(now.reason === null ? {} : { code: now.reason.code, reason: now.reason.message }),
    });
    return now;
  }

  #record(claim: Claim, outcome: Outcome): Promise<boolean> {
    const { queue } = this.#parts;
    const isSmoke = claim.event.target?.forge === smokeForge.name;
    if (isSmoke && (outcome.kind === 'hopeless' || outcome.kind === 'failed'))
      return queue.skipped(claim, outcome.reason);
    switch (outcome.kind) {
      case 'done':
        return queue.done(claim, outcome.run_id);
      case 'skipped':
        return queue.skipped(claim, outcome.reason);
      case 'interrupted':
        return queue.release(claim);
      case 'hopeless':
        return queue.dead(claim, outcome.reason, outcome.run_id);
      case 'unreached':
        return queue.postponed(claim, outcome.reason, unreachedSeconds);
      case 'failed':
        return queue.failed(claim, outcome.reason);
    }
  }

  /** What came of an attempt is kept in memory while the disk, or the database, takes nothing; a kill then has it asked for again. */
  async #store(write: () => Promise<boolean>): Promise<boolean> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof Unavailable) || this.#ending.signal.aborted) throw error;
        this.#parts.logger.warn(`what came of an event cannot be kept yet: ${messageOf(error)}`);
        await pause(storeAgainMs, undefined, { signal: this.#ending.signal }).catch(() => {});
      }
    }
  }
}
