import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { RunStateMessage, SyncReply } from '#kit/contracts/bridge/sync.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { BridgeConfig } from '../configuration.ts';
import type { Daemon } from '../daemon.ts';
import type { EventQueue } from '../queue/event-queue.ts';
import type { StoredEvent } from '../queue/stored-event.ts';
import type { Dashboard } from './dashboard.ts';
import { type Delivery, deliveryKey, Outbox, type OutboxParts } from './outbox.ts';

export interface SyncParts extends Pick<OutboxParts, 'db' | 'observe'> {
  readonly dashboards: readonly Dashboard[];
  readonly daemon: Pick<Daemon, 'runs'>;
  readonly queue: Pick<EventQueue, 'ofRun' | 'underWayFor'>;
  readonly config: BridgeConfig['sync'];
  readonly logger: Logger;
  readonly now?: () => number;
}

export interface HowToSync {
  /** Also what was given up. */
  readonly retryDead?: boolean;
  /** Also what waits for its next try: a person asks, who may have mended what was wrong. */
  readonly early?: boolean;
}

type Counts = Pick<SyncReply, 'runs' | 'queued' | 'delivered' | 'failed'>;

/** What happened in the daemon goes to the dashboards: looks what runs have come to, queues it, and delivers what is due. */
export class Sync {
  readonly #parts: SyncParts;
  readonly #outbox: Outbox;
  readonly #now: () => number;
  readonly #ending = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #begun = false;
  /** Why the runs could not be looked at; null after they could. */
  problem: string | null = null;

  constructor(parts: SyncParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    const { db, logger, observe, config } = parts;
    this.#outbox = new Outbox({ db, logger, observe, attempts: config.attempts, now: this.#now });
  }

  /** Does it once, after what of it is under way. @throws what the daemon's client throws, after what waits was delivered */
  sync(how: HowToSync = {}): Promise<SyncReply> {
    const work = this.#last.then(() => this.#syncOnce(how));
    this.#last = work.catch(() => {});
    return work;
  }

  /** Begins to do it by itself, where there is a dashboard. */
  begin(): void {
    this.#begun = this.#parts.dashboards.length > 0;
    this.#again(0);
  }

  /** A run may have come to another state. */
  wake(): void {
    this.#again(200);
  }

  counts(): SyncReply['dashboards'] {
    const { dashboards } = this.#parts;
    return Object.fromEntries(dashboards.map(({ name }) => [name, this.#outbox.counts(name)]));
  }

  /** Since when a delivery waits, in milliseconds since 1970; null where nothing does. */
  oldestWaiting(): number | null {
    const times = this.#parts.dashboards.flatMap(({ name }) => this.#outbox.oldestWaiting(name) ?? []);
    return times.length === 0 ? null : Math.min(...times);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#ending.abort();
    await this.#last;
    for (const dashboard of this.#parts.dashboards) await dashboard.close();
  }

  #again(ms: number): void {
    if (!this.#begun || this.#ending.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.sync()
        .catch((error) => this.#parts.logger.debug(`not synced: ${messageOf(error)}`))
        .finally(() => this.#again(this.#nextPause()));
    }, ms);
    this.#timer.unref();
  }

  #nextPause(): number {
    const { dashboards, config } = this.#parts;
    const due = dashboards.map(({ name }) => this.#outbox.nextDue(name) ?? Number.POSITIVE_INFINITY);
    return Math.min(config.seconds * 1000, Math.max(1_000, Math.min(...due) - this.#now()));
  }

  async #syncOnce({ retryDead = false, early = false }: HowToSync): Promise<SyncReply> {
    const { dashboards } = this.#parts;
    if (retryDead) for (const { name } of dashboards) this.#outbox.revive(name);
    let counts: Counts = { runs: 0, queued: 0, delivered: 0, failed: 0 };
    let unseen: unknown = null;
    try {
      counts = { ...counts, ...(await this.#collect()) };
      this.problem = null;
    } catch (error) {
      this.problem = messageOf(error);
      unseen = error;
    }
    const sent = await Promise.all(
      dashboards.map((dashboard) => this.#outbox.flush(dashboard, this.#ending.signal, early)),
    );
    if (unseen !== null) throw unseen;
    return {
      ...counts,
      delivered: sent.reduce((sum, { delivered }) => sum + delivered, 0),
      failed: sent.reduce((sum, { failed }) => sum + failed, 0),
      dashboards: this.counts(),
    };
  }

  async #collect(): Promise<Pick<Counts, 'runs' | 'queued'>> {
    const { dashboards, daemon, config } = this.#parts;
    if (dashboards.length === 0) return { runs: 0, queued: 0 };
    const oldest = this.#now() - config.days * 24 * 3_600_000;
    let runs = 0;
    let queued = 0;
    for await (const page of daemon.runs(this.#ending.signal)) {
      const recent = page.filter(({ created_at }) => Date.parse(created_at) >= oldest);
      const shown = recent.filter(({ forge }) => forge !== smokeForge.name);
      runs += shown.length;
      const byId = new Map(shown.map((run) => [run.run_id, run]));
      const wanted = shown.flatMap((run) =>
        dashboards.map(
          ({ name }): Delivery => ({ dashboard: name, run_id: run.run_id, status: stateOf(run) }),
        ),
      );
      queued += this.#outbox.enqueue(wanted, (one) => this.#bodyOf(one, byId.get(one.run_id)!));
      if (recent.length < page.length) break;
    }
    return { runs, queued };
  }

  #bodyOf(delivery: Delivery, run: RunSummary): string {
    const message: RunStateMessage = {
      type: 'run.state',
      dashboard: delivery.dashboard,
      key: deliveryKey(delivery),
      observed_at: new Date(this.#now()).toISOString(),
      run,
      event: eventOf(this.#parts.queue.ofRun(run.run_id) ?? this.#parts.queue.underWayFor(run)),
    };
    return JSON.stringify(message);
  }
}

/** A run waits for approval twice: that its gate publish does is a state of its own. */
function stateOf({ status, waits_for }: RunSummary): string {
  return status === 'awaiting_approval' && waits_for === 'publish' ? `${status}/${waits_for}` : status;
}

function eventOf(event: StoredEvent | null): RunStateMessage['event'] {
  if (event === null) return null;
  return { event_id: event.event_id, source: event.source, issue_id: event.content.issue.id };
}
