import { guarded } from '#kit/callbacks.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { BridgeConfig } from '../configuration.ts';

export type Retention = Pick<BridgeConfig, 'retention' | 'sync'>;

/** What ended longer ago than this goes, in milliseconds. What is pending or processed stays, however old it is. */
interface Ages {
  readonly endedMs: number;
  /** Of what was given up; no less. */
  readonly deadMs: number;
}

export interface Removal {
  readonly events: Ages;
  readonly deliveries: Ages;
}

const dayMs = 24 * 60 * 60 * 1000;
const everyMs = 60 * 60 * 1000;

/** Removes each hour what ended long ago. @returns what ends that */
export function beginPruning(
  prune: (removal: Removal) => Promise<number>,
  config: Retention,
  logger: Logger,
): () => void {
  const timer = setInterval(
    guarded('the queue of the bridge', () => {
      prune(removalOf(config)).then(
        (removed) => {
          if (removed > 0) logger.info(`${removed} old events and deliveries were removed`);
        },
        (error) => logger.warn(`old events are not removed: ${messageOf(error)}`, { error }),
      );
    }),
    everyMs,
  ).unref();
  return () => clearInterval(timer);
}

/** A run that is still delivered to dashboards needs its event and its earlier deliveries. */
export function removalOf({ retention, sync }: Retention): Removal {
  const days = Math.max(retention.days, sync.days + 1);
  const endedMs = days * dayMs;
  const deadMs = Math.max(retention.dead_days, days) * dayMs;
  return { events: { endedMs, deadMs }, deliveries: { endedMs, deadMs: endedMs } };
}
