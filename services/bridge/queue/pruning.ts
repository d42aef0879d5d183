import type { DatabaseSync } from 'node:sqlite';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { BridgeConfig } from '../configuration.ts';

export type Retention = Pick<BridgeConfig, 'retention' | 'sync'>;

const dayMs = 24 * 60 * 60 * 1000;
const everyMs = 60 * 60 * 1000;

/** Removes each hour what ended long ago. @returns what ends that */
export function beginPruning(db: DatabaseSync, config: Retention, logger: Logger): () => void {
  const timer = setInterval(() => {
    try {
      const removed = prune(db, config, Date.now());
      if (removed > 0) logger.info(`${removed} old events and deliveries were removed`);
    } catch (error) {
      logger.warn(`old events are not removed: ${messageOf(error)}`, { error });
    }
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/**
 * Removes events and deliveries to dashboards that ended long ago. What is pending or processed stays, however old it is.
 * @returns how many rows went
 */
export function prune(db: DatabaseSync, { retention, sync }: Retention, now: number): number {
  // A run that is still delivered to dashboards needs its event and its earlier deliveries.
  const days = Math.max(retention.days, sync.days + 1);
  const deadDays = Math.max(retention.dead_days, days);
  const removals = { events: deadDays, deliveries: days };
  let removed = 0;
  for (const [table, dead] of Object.entries(removals)) {
    const { changes } = db
      .prepare(
        `DELETE FROM ${table} INDEXED BY ${table}_ended
          WHERE state IN ('done', 'skipped', 'dead') AND changed_at < ? AND (state <> 'dead' OR changed_at < ?)`,
      )
      .run(now - days * dayMs, now - dead * dayMs);
    removed += Number(changes);
  }
  return removed;
}
