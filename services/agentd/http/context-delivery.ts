import { setTimeout } from 'node:timers/promises';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { CoreAgent } from '../core-agent.ts';

const everyMs = 60_000;
/** After the start, so that the first requests are answered before the delivery loads its modules. */
const firstMs = 1_500;

/**
 * Delivers pending runs to the context service, soon after the start and every minute: runs of commands that ended while it was
 * away. One line in the log when it goes away and one when it is back.
 */
export function deliverRegularly(
  agent: CoreAgent,
  logger: Logger,
  every = everyMs,
  first = firstMs,
): { end(): Promise<void> } {
  const ending = new AbortController();
  const { signal } = ending;
  let last: string | null = null;

  async function deliver(): Promise<void> {
    const { delivered = [], waiting = [], reason = null } = (await agent.deliverPending(signal)) ?? {};
    if (delivered.length > 0)
      logger.info('delivered runs to the context service', { runs: delivered.length });
    if (reason !== null && reason !== last) logger.warn(`context: ${reason}`, { waiting: waiting.length });
    else if (reason === null && last !== null) logger.info('context: it accepts deliveries again');
    last = reason;
  }

  async function run(): Promise<void> {
    for (let pause = first; !signal.aborted; pause = every) {
      await setTimeout(pause, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      await deliver().catch((error) => {
        if (!signal.aborted) logger.warn(`context: ${messageOf(error)}`, { error });
      });
    }
  }

  const done = run();
  return {
    async end() {
      ending.abort();
      await done;
    },
  };
}
