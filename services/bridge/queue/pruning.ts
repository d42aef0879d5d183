import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { BridgeConfig } from '../configuration.ts';
import type { BridgeDatabase } from './bridge-database.ts';

export interface PruningParts {
  readonly database: Pick<BridgeDatabase, 'db'>;
  readonly config: Pick<BridgeConfig, 'retention' | 'sync'>;
  readonly logger: Logger;
  readonly now?: () => number;
  /** Rows in one commit, so that events that arrive meanwhile wait for a moment only. */
  readonly batch?: number;
}

const dayMs = 24 * 60 * 60 * 1000;
const everyMs = 60 * 60 * 1000;
const betweenBatchesMs = 50;

/** Removes what ended long ago: events, and deliveries to dashboards. What is pending or processed stays, however old it is. */
export class Pruning {
  readonly #parts: PruningParts;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: PruningParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#timer = setInterval(() => {
      this.#running = this.prune().catch((error) =>
        this.#parts.logger.warn(`old events are not removed: ${messageOf(error)}`, { error }),
      );
    }, everyMs).unref();
  }

  /** @returns how many rows went */
  async prune(): Promise<number> {
    const { database, config, logger, now = Date.now, batch = 500 } = this.#parts;
    // A run that is still delivered to dashboards needs its event and its earlier deliveries.
    const days = Math.max(config.retention.days, config.sync.days + 1);
    const deadDays = Math.max(config.retention.dead_days, days);
    const before = now() - days * dayMs;
    const deadBefore = now() - deadDays * dayMs;
    let removed = 0;
    const removals = [
      { table: 'events', deadBefore },
      { table: 'deliveries', deadBefore: before },
    ];
    for (const { table, deadBefore } of removals) {
      const statement = database.db.prepare(`
        DELETE FROM ${table} WHERE seq IN (
          SELECT seq FROM ${table} INDEXED BY ${table}_ended
          WHERE state IN ('done', 'skipped', 'dead') AND changed_at < ? AND (state <> 'dead' OR changed_at < ?)
          LIMIT ?)`);
      for (let last = batch; last === batch && !this.#ending.signal.aborted; ) {
        last = Number(statement.run(before, deadBefore, batch).changes);
        removed += last;
        if (last === batch) await this.#pause();
      }
    }
    if (removed > 0) logger.info(`${removed} old events and deliveries were removed`);
    return removed;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#ending.abort();
    await this.#running;
  }

  #pause(): Promise<void> {
    return pause(betweenBatchesMs, undefined, { signal: this.#ending.signal }).catch(() => {});
  }
}
