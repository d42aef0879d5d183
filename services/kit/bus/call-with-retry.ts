import { setTimeout } from 'node:timers/promises';
import { type Bus, BusError } from './bus.ts';

export interface RetryOptions {
  /** Milliseconds for all attempts together. */
  readonly withinMs: number;
  /** Milliseconds for which a function may be missing: who provides it may be restarting. Default 15 s. */
  readonly missingMs?: number | undefined;
  /** Before the second attempt, in milliseconds; doubles up to the most. */
  readonly firstWaitMs?: number;
  /** Default 5 s. */
  readonly maxWaitMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Calls again after a lost connection, a stopped invocation, a time limit or a function that is not there yet. Only for functions
 * that may be called twice.
 * @throws BusError the last, when the time is over or another call cannot help; Interrupted by `signal`
 */
export async function callWithRetry(
  bus: Pick<Bus, 'call'>,
  function_id: string,
  data: unknown,
  options: RetryOptions,
): Promise<unknown> {
  const { withinMs, missingMs = 15_000, firstWaitMs = 100, maxWaitMs = 5_000, signal } = options;
  const stopped = signal === undefined ? {} : { signal };
  const end = performance.now() + withinMs;
  let missingSince: number | null = null;
  for (let attempt = 0; ; attempt++) {
    const left = Math.max(1, end - performance.now());
    try {
      return await bus.call(function_id, data, { timeoutMs: Math.ceil(left), ...stopped });
    } catch (error) {
      if (!(error instanceof BusError) || !error.retryable) throw error;
      const now = performance.now();
      missingSince = error.code === 'function_not_found' ? (missingSince ?? now) : null;
      const wait = Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(attempt, 20)) * (0.5 + Math.random() / 2);
      const missingTooLong = missingSince !== null && now + wait - missingSince > missingMs;
      if (missingTooLong || now + wait >= end) throw error;
      // It ends early where nobody wants the result any more; the next call says so.
      await setTimeout(wait, undefined, stopped).catch(() => {});
    }
  }
}
