import { crashPoint } from '#kit/crash-point.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { retrySeconds } from '../processing/retry-time.ts';
import { type Dashboard, DeliveryFailed } from './dashboard.ts';
import type { Delivery, DeliveryRows } from './delivery-rows.ts';

export interface OutboxParts {
  readonly rows: DeliveryRows;
  readonly logger: Logger;
  /** Failures after which a delivery is given up. */
  readonly attempts: number;
  readonly now: () => number;
  readonly observe: (dashboard: string, outcome: 'delivered' | 'failed' | 'dead') => void;
}

export interface Delivered {
  readonly delivered: number;
  readonly failed: number;
}

const retry = { first: 5, most: 600 };
/** The last moment that a date can have, in milliseconds since 1970. */
const farthestMs = 8.64e15;
/** Somebody may wait for the end of it. */
const longestFlushMs = 20_000;

/** Tells one dashboard what waits for it, one after the other. */
export class Outbox {
  readonly #dashboard: Dashboard;
  readonly #parts: OutboxParts;

  constructor(dashboard: Dashboard, parts: OutboxParts) {
    this.#dashboard = dashboard;
    this.#parts = parts;
  }

  /**
   * What is due; ends early where the dashboard as a whole does not answer, and after a while.
   * @param early also what is not due yet
   */
  async flush(signal: AbortSignal, early = false): Promise<Delivered> {
    const { rows, now } = this.#parts;
    const end = performance.now() + longestFlushMs;
    const { name } = this.#dashboard;
    let delivered = 0;
    let failed = 0;
    let seq = 0;
    while (!signal.aborted && performance.now() < end) {
      const delivery = rows.due(name, early ? farthestMs : now(), seq);
      if (delivery === null) break;
      const problem = await this.#deliver(delivery, signal);
      if (signal.aborted && problem !== null) break;
      if (problem === null) {
        delivered++;
        continue;
      }
      failed++;
      seq = delivery.seq;
      this.#failed(delivery, problem);
      if (!problem.ofMessage) break;
    }
    return { delivered, failed };
  }

  async #deliver(delivery: Delivery, signal: AbortSignal): Promise<DeliveryFailed | null> {
    const { rows, now, observe } = this.#parts;
    const key = deliveryKey(delivery);
    try {
      await this.#dashboard.deliver({ key, body: delivery.body }, signal);
    } catch (error) {
      return error instanceof DeliveryFailed ? error : new DeliveryFailed(messageOf(error), { cause: error });
    }
    crashPoint('bridge.summary_delivered');
    rows.delivered(delivery, now());
    observe(delivery.dashboard, 'delivered');
    return null;
  }

  #failed(delivery: Delivery, problem: DeliveryFailed): void {
    const { rows, now, attempts, logger, observe } = this.#parts;
    const { dashboard, run_id, status } = delivery;
    const failures = delivery.attempts + 1;
    const facts = { dashboard, run_id, status, attempts: failures };
    if (failures >= attempts) {
      logger.warn(`dashboard ${dashboard} was not told: ${problem.message}`, facts);
      observe(dashboard, 'dead');
      rows.dead(delivery, problem.message, now());
      return;
    }
    observe(dashboard, 'failed');
    const seconds = Math.max(retrySeconds(failures, retry), Math.min(problem.retryAfter ?? 0, 3_600));
    logger.debug(`dashboard ${dashboard} is told again: ${problem.message}`, facts);
    rows.failed(delivery, problem.message, Math.ceil(now() + seconds * 1000), now());
  }
}

/** Stands in the header `Idempotency-Key`. */
export function deliveryKey({
  dashboard,
  run_id,
  status,
}: Pick<Delivery, 'dashboard' | 'run_id' | 'status'>): string {
  return `${dashboard}/${run_id}/${status}`;
}
