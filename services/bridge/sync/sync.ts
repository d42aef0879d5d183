import { guarded } from '#kit/callbacks.ts';
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
import type { Delivery, NewDelivery } from './delivery-rows.ts';
import { deliveryKey, Outbox, type OutboxParts } from './outbox.ts';

export interface SyncParts extends Pick<OutboxParts, 'deliveries' | 'deliveryJobs' | 'observe'> {
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
    const { deliveries, deliveryJobs, logger, observe, config } = parts;
    const { attempts } = config;
    this.#outbox = new Outbox({ deliveries, deliveryJobs, logger, observe, attempts });
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

  async counts(): Promise<SyncReply['dashboards']> {
    const counts: Record<string, SyncReply['dashboards'][string]> = {};
    for (const { name } of this.#parts.dashboards) counts[name] = await this.#outbox.counts(name);
    return counts;
  }

  /** For how many milliseconds a delivery waits; null where nothing does. */
  async oldestMs(): Promise<number | null> {
    const names = this.#parts.dashboards.map(({ name }) => name);
    const ages = await Promise.all(names.map((name) => this.#outbox.oldestMs(name)));
    const waiting = ages.filter((age) => age !== null);
    return waiting.length === 0 ? null : Math.max(...waiting);
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
    this.#timer = setTimeout(
      guarded('the sync of dashboards', () => {
        this.sync()
          .catch((error) => this.#parts.logger.debug(`not synced: ${messageOf(error)}`))
          .then(() => this.#nextPause())
          .catch(() => this.#parts.config.seconds * 1000)
          .then((pause) => this.#again(pause));
      }),
      ms,
    );
    this.#timer.unref();
  }

  async #nextPause(): Promise<number> {
    const { dashboards, config } = this.#parts;
    const due = await Promise.all(dashboards.map(({ name }) => this.#outbox.nextDue(name)));
    const waits = due.map((next) => next?.inMs ?? Number.POSITIVE_INFINITY);
    return Math.min(config.seconds * 1000, Math.max(1_000, Math.min(...waits)));
  }

  async #syncOnce({ retryDead = false, early = false }: HowToSync): Promise<SyncReply> {
    const { dashboards } = this.#parts;
    if (retryDead) for (const { name } of dashboards) await this.#outbox.revive(name);
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
      dashboards: await this.counts(),
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
      queued += await this.#outbox.enqueue(wanted, (one) => this.#made(one, byId.get(one.run_id)!));
      if (recent.length < page.length) break;
    }
    return { runs, queued };
  }

  async #made(delivery: Delivery, run: RunSummary): Promise<NewDelivery> {
    const { queue } = this.#parts;
    const message: RunStateMessage = {
      type: 'run.state',
      dashboard: delivery.dashboard,
      key: deliveryKey(delivery),
      observed_at: new Date(this.#now()).toISOString(),
      run,
      event: eventOf((await queue.ofRun(run.run_id)) ?? (await queue.underWayFor(run))),
    };
    return { ...delivery, body: JSON.stringify(message), run_updated_at: run.updated_at };
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
