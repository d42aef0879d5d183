import * as t from 'io-ts';
import { BusError } from '#kit/bus/bus.ts';
import { connectBus } from '#kit/bus/websocket-bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { HealthResult } from '#kit/contracts/bus/functions.ts';
import { decode, matches } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import { silentLogger } from '#kit/silent-logger.ts';
import type { EngineEvidence, WorkerAnswer } from './engine-evidence.ts';
import { configurationIds } from './engine-evidence.ts';

const Functions = t.strict({ functions: t.array(t.strict({ function_id: t.string })) });
const Configuration = t.strict({ value: t.unknown });

/**
 * Asks the engine over the bus, everything at once, on the first connection: whether a second one would be taken is not what a report
 * is about. Never throws, and waits for no goodbye.
 */
export async function readEngine(options: {
  readonly url: string;
  /** Asked before each connecting. */
  readonly token: () => string | null;
  /** PEM of the certificate to trust; null: those that the system trusts. */
  readonly ca: string | null;
  /** Milliseconds for all of it. */
  readonly timeoutMs: number;
}): Promise<Omit<EngineEvidence, 'telemetryEnabled'>> {
  const { url, token, ca, timeoutMs } = options;
  const started = performance.now();
  const left = () => Math.max(1, Math.round(timeoutMs - (performance.now() - started)));
  const failure = Promise.withResolvers<never>();
  const failed = (reason: string) => failure.reject(new Error(reason));
  const bus = connectBus({ url, token, ca, name: 'core-status', logger: silentLogger, failed });
  const ask = (id: string, data: unknown): Promise<unknown> => bus.call(id, data, { timeoutMs: left() });
  try {
    await Promise.race([bus.whenConnected(left()), failure.promise]);
    const [health, functions, worker, ...values] = await Promise.all([
      ask('engine::health::check', {}).catch(() => null),
      ask('engine::functions::list', { prefix: 'core.' }).catch(() => null),
      askWorker(() => ask(functionIds.health, {})),
      ...configurationIds.map((id) => ask('configuration::get', { id }).catch(() => null)),
    ]);
    return {
      unreachable: null,
      health,
      functions: matches(Functions, functions)
        ? (functions as t.TypeOf<typeof Functions>).functions.map(({ function_id }) => function_id)
        : null,
      configuration: Object.fromEntries(configurationIds.map((id, index) => [id, valueIn(values[index])])),
      worker,
    };
  } catch (error) {
    return unreachableEngine(messageOf(error));
  } finally {
    void bus.close();
  }
}

export function unreachableEngine(unreachable: string): Omit<EngineEvidence, 'telemetryEnabled'> {
  const worker = { ok: false, detail: `the bus is not reached: ${unreachable}`, took_ms: 0, reaches: null };
  return { unreachable, health: null, functions: null, configuration: {}, worker };
}

async function askWorker(ask: () => Promise<unknown>): Promise<WorkerAnswer> {
  const started = performance.now();
  const took_ms = () => Math.round(performance.now() - started);
  try {
    const answer = decode(HealthResult, await ask(), `the result of ${functionIds.health}`);
    if (answer.ok)
      return { ok: true, detail: 'answers calls', took_ms: took_ms(), reaches: answer.reaches ?? null };
    const detail = `answers calls; core-agentd behind it is not well: ${answer.error.message}`;
    const agentd = { status: 'degraded' as const, detail: answer.error.message };
    return { ok: true, detail, took_ms: took_ms(), reaches: { agentd } };
  } catch (error) {
    const code = error instanceof BusError ? error.code : 'internal';
    const detail =
      code === 'function_not_found'
        ? `${functionIds.health} is not registered: the worker is not connected`
        : code === 'TIMEOUT'
          ? `${functionIds.health} is registered but does not answer in time`
          : `${functionIds.health}: ${messageOf(error)}`;
    return { ok: false, detail, took_ms: took_ms(), reaches: null };
  }
}

/** Value of a configuration; the engine wraps it. */
function valueIn(answer: unknown): unknown {
  return matches(Configuration, answer) ? (answer as { value: unknown }).value : null;
}
