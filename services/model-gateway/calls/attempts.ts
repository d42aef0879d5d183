import { setTimeout } from 'node:timers/promises';
import { UpstreamFailure } from '../providers/failure.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../providers/upstream.ts';

/** An upstream with the place that a call has to have there. */
export interface Lane {
  readonly upstream: Upstream;
  enter(account: string, signal: AbortSignal): Promise<() => void>;
}

export interface AttemptOptions {
  readonly account: string;
  /** After the first at each upstream. */
  readonly retries: number;
  /** Told of each attempt that failed. */
  failed(upstream: string, failure: UpstreamFailure, next: 'again' | 'elsewhere' | 'given up'): void;
  /** Told before each attempt, which it may prevent by throwing. */
  began(upstream: string): void;
  /** From 0 up to 1. */
  readonly random?: () => number;
}

export interface Answered {
  readonly upstream: string;
  readonly answer: UpstreamAnswer;
  /** Gives the place at the upstream to the next call. */
  readonly leave: () => void;
}

const firstWaitMs = 250;
const longestWaitMs = 8_000;
/** An upstream that wants to be left alone for longer is not waited for. */
const longestAskedMs = 20_000;

/**
 * Asks one upstream after the other until one answers, each as often as it may help; nobody has seen a byte until then.
 * @throws the failure of the last upstream, and the signal's reason
 */
export async function answerFrom(
  lanes: readonly Lane[],
  call: ModelCall,
  options: AttemptOptions,
): Promise<Answered> {
  for (const lane of lanes) {
    const isLast = lane === lanes.at(-1);
    for (let attempt = 0; ; attempt++) {
      try {
        return await attemptAt(lane, call, options);
      } catch (error) {
        if (call.signal.aborted) throw call.signal.reason;
        if (!(error instanceof UpstreamFailure)) throw error;
        const wait =
          error.remedy === 'retry' && attempt < options.retries ? waitBefore(attempt, error, options) : null;
        const over = error.remedy === 'none' || (wait === null && isLast);
        options.failed(lane.upstream.name, error, wait !== null ? 'again' : over ? 'given up' : 'elsewhere');
        if (over) throw error;
        if (wait === null) break;
        await pause(wait, call.signal);
      }
    }
  }
  throw new Error('a model has at least one upstream');
}

async function attemptAt(
  { upstream, enter }: Lane,
  call: ModelCall,
  options: AttemptOptions,
): Promise<Answered> {
  const leave = await enter(options.account, call.signal);
  try {
    options.began(upstream.name);
    return { upstream: upstream.name, answer: await upstream.send(call), leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Full jitter, and never sooner than the upstream asked; null where that is too long. */
function waitBefore(
  attempt: number,
  { retryAfterMs }: UpstreamFailure,
  { random = Math.random }: AttemptOptions,
): number | null {
  if ((retryAfterMs ?? 0) > longestAskedMs) return null;
  return (retryAfterMs ?? 0) + random() * Math.min(longestWaitMs, firstWaitMs * 2 ** attempt);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
