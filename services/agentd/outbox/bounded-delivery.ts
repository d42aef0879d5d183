import { Interrupted, messageOf } from '#kit/errors.ts';
import type { Watch } from '../agent.ts';
import type { RunDelivery } from './run-delivery.ts';

/** Milliseconds for the delivery of one run, and for those of earlier runs before a planning. */
const oneMs = 3_000;
const earlierMs = 5_000;

/** Does `work` on a run, then delivers its news. What cannot be delivered waits, and changes nothing about how the work ends. */
export async function withDelivery<T>(
  delivery: RunDelivery | null,
  runId: string,
  watch: Watch,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } finally {
    const problem = delivery === null ? null : await deliverWithTimeout(delivery, runId);
    if (problem !== null) {
      const message = `context: ${problem}; delivery of run ${runId} is queued, the next command or ./core sync retries it`;
      watch.progress({ step: 'context', state: 'info', message });
    }
  }
}

/** Delivers what is new of one run, within a short time. @returns why it waits; null when nothing does */
export async function deliverWithTimeout(delivery: RunDelivery, runId: string): Promise<string | null> {
  try {
    await delivery.deliver(runId, AbortSignal.timeout(oneMs));
    return null;
  } catch (error) {
    if (error instanceof Interrupted)
      return `${delivery.contextName} did not answer within ${oneMs / 1000} s`;
    return messageOf(error);
  }
}

/** Delivers what waits of all runs, within a short time. @returns why some of it waits still; null when none does */
export async function deliverEarlier(delivery: RunDelivery, signal: AbortSignal): Promise<string | null> {
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(earlierMs)]);
    const { waiting, reason } = await delivery.deliverPending(within);
    return waiting.length === 0 ? null : reason;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Interrupted)
      return `${delivery.contextName} did not take every earlier run within ${earlierMs / 1000} s`;
    return messageOf(error);
  }
}
