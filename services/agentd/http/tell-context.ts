import { setTimeout } from 'node:timers/promises';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Agent } from '../agent.ts';

const everyMs = 60_000;
/** After the start, so that the first requests are answered before what this takes is loaded. */
const firstMs = 1_500;

/**
 * Tells the context service what waits for it, soon after the start and every minute: runs of commands that ended while it was away. One
 * line in the log when it goes away and one when it is back.
 */
export function tellContext(
  agent: Agent,
  logger: Logger,
  every = everyMs,
  first = firstMs,
): { end(): Promise<void> } {
  const over = new AbortController();
  let last: string | null = null;

  async function tell(): Promise<void> {
    const report = await agent.deliverPending(over.signal);
    const { delivered = [], waiting = [], reason = null } = report ?? {};
    if (delivered.length > 0) logger.info('told the context service of runs', { runs: delivered.length });
    if (reason !== null && reason !== last) logger.warn(`context: ${reason}`, { waiting: waiting.length });
    else if (reason === null && last !== null) logger.info('context: it takes what it is told again');
    last = reason;
  }

  const pause = (ms: number) =>
    setTimeout(ms, undefined, { signal: over.signal, ref: false }).catch(() => {});

  async function run(): Promise<void> {
    await pause(first);
    while (!over.signal.aborted) {
      try {
        await tell();
      } catch (error) {
        if (!over.signal.aborted) logger.warn(`context: ${messageOf(error)}`, { error });
      }
      await pause(every);
    }
  }

  const done = run();
  return {
    async end() {
      over.abort();
      await done;
    },
  };
}
