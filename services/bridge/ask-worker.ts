import type { Bus } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { HealthResult } from '#kit/contracts/bus/functions.ts';
import { decode } from '#kit/decode.ts';
import { Unavailable } from '#kit/errors.ts';

/**
 * Whether a worker takes calls and reaches what it needs for them.
 * @returns a word for people
 * @throws BusError where nobody answers, Unavailable (`worker_degraded`) where the worker says what it lacks
 */
export async function askWorker(
  bus: Pick<Bus, 'call'>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> {
  const id = functionIds.health;
  const answer = decode(HealthResult, await bus.call(id, {}, { timeoutMs, signal }), `the result of ${id}`);
  if (!answer.ok)
    throw new Unavailable(
      'worker_degraded',
      `answers; it does not reach core-agentd: ${answer.error.message}`,
    );
  const lacks = Object.entries(answer.reaches ?? {}).filter(([, { status }]) => status !== 'ok');
  if (lacks.length === 0) return 'answers calls, and reaches what it needs';
  const told = lacks.map(([name, { detail }]) => `${name}: ${detail}`).join('; ');
  throw new Unavailable('worker_degraded', `answers, and does not reach ${told}`);
}
