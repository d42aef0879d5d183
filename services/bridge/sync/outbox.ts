import type { DatabaseSync } from 'node:sqlite';
import type { SyncReply } from '#kit/contracts/bridge/sync.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { messageOf } from '#kit/errors.ts';
import { DurableQueue, type JobClaim, type JobTable } from '#kit/jobs/durable-queue.ts';
import type { Logger } from '#kit/log.ts';
import { transaction } from '#kit/storage/database.ts';
import { DeliveryFailed } from '#kit/webhooks/webhook.ts';
import type { Dashboard } from './dashboard.ts';

export interface OutboxParts {
  readonly db: DatabaseSync;
  readonly logger: Logger;
  /** Failures after which a delivery is given up. */
  readonly attempts: number;
  readonly now: () => number;
  readonly observe: (dashboard: string, outcome: 'delivered' | 'failed' | 'dead') => void;
}

/** That a run reached a status, for one dashboard: delivered once. */
export interface Delivery {
  readonly dashboard: string;
  readonly run_id: string;
  readonly status: string;
}

export interface Flushed {
  readonly delivered: number;
  readonly failed: number;
}

const jobs: JobTable = {
  name: 'deliveries',
  // The states of one run reach a dashboard in order.
  ready: `NOT EXISTS (
    SELECT 1 FROM deliveries AS before WHERE before.dashboard = job.dashboard AND before.run_id = job.run_id
      AND before.state IN ('pending', 'processing') AND before.seq < job.seq)`,
  dueIndex: 'deliveries_due',
};

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
    this.#queue = new DurableQueue(parts.db, jobs, { ...retry, attempts: parts.attempts }, parts.now);
  }

  /**
   * Adds what is not there yet, in one commit.
   * @param bodyOf makes the text of those that are added
   * @returns how many were
   */
  enqueue(wanted: readonly Delivery[], bodyOf: (delivery: Delivery) => string): number {
    const { db, now } = this.#parts;
    const known = db.prepare('SELECT 1 FROM deliveries WHERE dashboard = ? AND run_id = ? AND status = ?');
    const missing = wanted.filter(
      ({ dashboard, run_id, status }) => known.get(dashboard, run_id, status) === undefined,
    );
    if (missing.length === 0) return 0;
    const insert = db.prepare(
      "INSERT INTO deliveries (dashboard, run_id, status, body, state, due_at, changed_at) VALUES (?, ?, ?, ?, 'pending', ?, ?)",
    );
    transaction(db, () => {
      for (const delivery of missing) {
        const { dashboard, run_id, status } = delivery;
        insert.run(dashboard, run_id, status, bodyOf(delivery), now(), now());
      }
    });
    return missing.length;
  }

  /**
   * Delivers what is due for one dashboard, one after the other; ends early where the dashboard as a whole does not answer, and
   * after a while.
   * @param early also what is not due yet
   */
  async flush(dashboard: Dashboard, signal: AbortSignal, early = false): Promise<Flushed> {
    const mine = { dashboard: dashboard.name };
    if (early) this.#queue.hurry(mine);
    const end = performance.now() + maxFlushMs;
    const counts = { delivered: 0, failed: 0 };
    while (!signal.aborted && performance.now() < end) {
      const taken = this.#queue.claim(leaseMs, mine);
      if (taken === null) break;
      const { claim, row } = taken;
      const { run_id, status, body } = row as Record<string, string>;
      const delivery = { ...mine, run_id: run_id!, status: status! };
      const problem = await deliverTo(dashboard, { key: deliveryKey(delivery), body: body! }, signal);
      if (problem === null) {
        crashPoint('bridge.summary_delivered');
        this.#queue.done(claim);
        this.#parts.observe(dashboard.name, 'delivered');
        counts.delivered++;
      } else if (signal.aborted) this.#queue.release(claim);
      else {
        this.#failed(claim, delivery, problem);
        counts.failed++;
        if (!problem.ofMessage) break;
      }
    }
    return counts;
  }

  /** Those that were given up are tried again. */
  revive(dashboard: string): void {
    this.#queue.revive({ dashboard });
  }

  counts(dashboard: string): SyncReply['dashboards'][string] {
    const { pending = 0, processing = 0, done = 0, dead = 0 } = this.#queue.counts({ dashboard });
    const row = this.#parts.db
      .prepare(
        "SELECT reason FROM deliveries WHERE dashboard = ? AND state IN ('pending', 'processing', 'dead') AND reason IS NOT NULL ORDER BY changed_at DESC LIMIT 1",
      )
      .get(dashboard) as { reason: string } | undefined;
    return { waiting: pending + processing, delivered: done, dead, problem: row?.reason ?? null };
  }

  /** When what waits longest was seen, in milliseconds since 1970; null where nothing waits. */
  oldestWaiting(dashboard: string): number | null {
    const row = this.#parts.db
      .prepare(
        "SELECT json_extract(body, '$.observed_at') AS at FROM deliveries WHERE dashboard = ? AND state IN ('pending', 'processing') ORDER BY seq LIMIT 1",
      )
      .get(dashboard) as { at: string | null } | undefined;
    return row?.at == null ? null : Date.parse(row.at);
  }

  nextDue(dashboard: string): number | null {
    return this.#queue.nextDue({ dashboard });
  }

  #failed(claim: JobClaim, delivery: Delivery, { message, retryAfter }: DeliveryFailed): void {
    const { logger, observe } = this.#parts;
    const { dashboard } = delivery;
    const facts = { ...delivery, attempts: claim.attempts + 1 };
    const isDead = this.#queue.isLast(claim);
    if (isDead) logger.warn(`delivery to dashboard ${dashboard} is given up: ${message}`, facts);
    else logger.debug(`delivery to dashboard ${dashboard} is retried: ${message}`, facts);
    observe(dashboard, isDead ? 'dead' : 'failed');
    const reason = { code: 'delivery_failed', message };
    this.#queue.failed(claim, reason, Math.min(retryAfter ?? 0, maxRetryAfterSeconds));
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
