import { setTimeout } from 'node:timers/promises';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Notifier } from './notifier.ts';

/** Milliseconds between two looks: other processes write runs too, without a signal to this one. */
const everyMs = 2_000;

/** Tells people what happens, until it is ended. One line in the log for each kind of failure in a row. */
export function notifyRegularly(
  notifier: Notifier,
  logger: Pick<Logger, 'warn'>,
  every = everyMs,
): { end(): Promise<void> } {
  const ending = new AbortController();
  const { signal } = ending;
  let last: string | null = null;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await setTimeout(every, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const problem = await notifier.tick().then(() => null, messageOf);
      if (problem !== null && problem !== last) logger.warn(`notifications: ${problem}`);
      last = problem;
    }
  }

  const done = run();
  return {
    async end() {
      ending.abort();
      await done;
      await notifier.close();
    },
  };
}
