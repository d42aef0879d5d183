import type { SyncReply } from '#kit/contracts/bridge/sync.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { messageOf } from '#kit/errors.ts';
import type { DatabaseJobs, Due, JobClaim } from '#kit/jobs/database-jobs.ts';
import { DurableQueue } from '#kit/jobs/durable-queue.ts';
import type { Logger } from '#kit/log.ts';
import { DeliveryFailed } from '#kit/webhooks/webhook.ts';
import type { Dashboard } from './dashboard.ts';
import type { Delivery, DeliveryRows, NewDelivery } from './delivery-rows.ts';

export interface OutboxParts {
  readonly deliveries: DeliveryRows;
  readonly deliveryJobs: DatabaseJobs;
  readonly logger: Logger;
  /** Failures after which a delivery is given up. */
  readonly attempts: number;
  readonly observe: (dashboard: string, outcome: 'delivered' | 'failed' | 'dead') => void;
}

export interface Flushed {
  readonly delivered: number;
  readonly failed: number;
}

const retry = { first: 5, max: 600 };
const maxRetryAfterSeconds = 3_600;
/** Longer than a dashboard may take for its answer. */
const leaseMs = 300_000;
/** Somebody may wait for the end of it. */
const maxFlushMs = 20_000;

/** States of runs on their way to dashboards, kept until they have taken them. */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #queue: DurableQueue;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#queue = new DurableQueue(parts.deliveryJobs, { ...retry, attempts: parts.attempts });
  }

  /**
   * Adds what is not there yet.
   * @param made makes those that are added
   * @returns how many were
   */
  async enqueue(
    wanted: readonly Delivery[],
    made: (delivery: Delivery) => Promise<NewDelivery>,
  ): Promise<number> {
    const { deliveries } = this.#parts;
    const missing = await deliveries.missing(wanted);
    if (missing.length === 0) return 0;
    const fresh: NewDelivery[] = [];
    for (const delivery of missing) fresh.push(await made(delivery));
    return deliveries.add(fresh);
  }

  /**
   * Delivers what is due for one dashboard, one after the other; ends early where the dashboard as a whole does not answer, and
   * after a while.
   * @param early also what is not due yet
   */
  async flush(dashboard: Dashboard, signal: AbortSignal, early = false): Promise<Flushed> {
    const mine = { dashboard: dashboard.name };
    if (early) await this.#queue.hurry(mine);
    const end = performance.now() + maxFlushMs;
    const counts = { delivered: 0, failed: 0 };
    while (!signal.aborted && performance.now() < end) {
      const taken = await this.#queue.claim(leaseMs, mine);
      if (taken === null) break;
      const { claim, row } = taken;
      const { run_id, status, body } = row as Record<string, string>;
      const delivery = { ...mine, run_id: run_id!, status: status! };
      const problem = await deliverTo(dashboard, { key: deliveryKey(delivery), body: body! }, signal);
      if (problem === null) {
        crashPoint('bridge.summary_delivered');
        await this.#queue.done(claim);
        this.#parts.observe(dashboard.name, 'delivered');
        counts.delivered++;
      } else if (signal.aborted) await this.#queue.release(claim);
      else {
        await this.#failed(claim, delivery, problem);
        counts.failed++;
        if (!problem.ofMessage) break;
      }
    }
    return counts;
  }

  /** Those that were given up are tried again. */
  async revive(dashboard: string): Promise<void> {
    await this.#queue.revive({ dashboard });
  }

  async counts(dashboard: string): Promise<SyncReply['dashboards'][string]> {
    const { pending = 0, processing = 0, done = 0, dead = 0 } = await this.#queue.counts({ dashboard });
    const problem = await this.#parts.deliveries.problem(dashboard);
    return { waiting: pending + processing, delivered: done, dead, problem };
  }

  /** Milliseconds since what waits longest was seen; null where nothing waits. */
  oldestMs(dashboard: string): Promise<number | null> {
    return this.#parts.deliveries.oldestMs(dashboard);
  }

  nextDue(dashboard: string): Promise<Due | null> {
    return this.#queue.nextDue({ dashboard });
  }

  async #failed(claim: JobClaim, delivery: Delivery, { message, retryAfter }: DeliveryFailed): Promise<void> {
    const { logger, observe } = this.#parts;
    const { dashboard } = delivery;
    const facts = { ...delivery, attempts: claim.attempts + 1 };
    const isDead = this.#queue.isLast(claim);
    if (isDead) logger.warn(`delivery to dashboard ${dashboard} is given up: ${message}`, facts);
    else logger.debug(`delivery to dashboard ${dashboard} is retried: ${message}`, facts);
    observe(dashboard, isDead ? 'dead' : 'failed');
    const reason = { code: 'delivery_failed', message };
    await this.#queue.failed(claim, reason, Math.min(retryAfter ?? 0, maxRetryAfterSeconds));
  }
}

async function deliverTo(
  dashboard: Dashboard,
  message: Parameters<Dashboard['deliver']>[0],
  signal: AbortSignal,
): Promise<DeliveryFailed | null> {
  try {
    await dashboard.deliver(message, signal);
    return null;
  } catch (error) {
    return error instanceof DeliveryFailed ? error : new DeliveryFailed(messageOf(error), { cause: error });
  }
}

/** Stands in the header `Idempotency-Key`. */
export function deliveryKey({ dashboard, run_id, status }: Delivery): string {
  return `${dashboard}/${run_id}/${status}`;
}
