import { setTimeout } from 'node:timers/promises';
import { Interrupted, messageOf } from '#kit/errors.ts';
import type { Watch } from '../agent.ts';
import type { Run } from '../runs/run.ts';
import type { RunDelivery } from './run-delivery.ts';

/** Milliseconds between two deliveries of a run at work, for its last one, and for those of earlier runs before a planning. */
const everyMs = 1_000;
const lastMs = 3_000;
const earlierMs = 5_000;

/**
 * Does `work` on a run and delivers its news meanwhile and at the end. What cannot be delivered waits; it never delays the work,
 * and it changes nothing about how the work ends. That it waits is reported once, until the service answers again.
 * @param reports whether the run says itself that the service does not answer
 */
export async function withLiveDelivery(
  delivery: RunDelivery | null,
  runId: string,
  watch: Watch,
  work: () => Promise<Run>,
  reports: (run: Run) => boolean = () => false,
): Promise<Run> {
  if (delivery === null) return work();
  const over = new AbortController();
  const delivering = deliverUntil(delivery, runId, over.signal);
  let reported = false;
  try {
    const run = await work();
    reported = reports(run);
    return run;
  } finally {
    over.abort();
    await delivering;
    const problem = await deliverWithTimeout(delivery, runId);
    if (problem !== null && delivery.noteAway() && !reported) {
      const message = `context: ${problem}; delivery of run ${runId} is queued, the next command or ./core sync retries it`;
      watch.progress({ step: 'context', state: 'info', message });
    }
  }
}

/** Delivers what is new of one run, within a short time. @returns why it waits; null when nothing does */
export async function deliverWithTimeout(delivery: RunDelivery, runId: string): Promise<string | null> {
  try {
    await delivery.deliver(runId, AbortSignal.timeout(lastMs));
    return null;
  } catch (error) {
    if (error instanceof Interrupted)
      return `${delivery.contextName} did not answer within ${lastMs / 1000} s`;
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

async function deliverUntil(delivery: RunDelivery, runId: string, over: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await setTimeout(everyMs, undefined, { signal: over });
      await delivery.deliver(runId, AbortSignal.any([over, AbortSignal.timeout(lastMs)]));
    } catch {
      // It comes at the end, or later.
      if (over.aborted) return;
    }
  }
}
