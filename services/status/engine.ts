import * as t from 'io-ts';
import { BusError } from '#kit/bus/bus.ts';
import { connectBus } from '#kit/bus/websocket-bus.ts';
import { inBackground } from '#kit/callbacks.ts';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { HealthResult } from '#kit/contracts/bus/functions.ts';
import type { Health } from '#kit/contracts/health.ts';
import type { EngineReport } from '#kit/contracts/status.ts';
import { decode, matches } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import { silentLogger } from '#kit/log.ts';

/** Workers of the engine whose configuration the report is made of. */
const configurationIds = [
  'core-bus-engine',
  'iii-telemetry',
  'iii-state',
  'iii-stream',
  'iii-queue',
  'iii-cron',
] as const;
type ConfigurationId = (typeof configurationIds)[number];

export interface WorkerAnswer {
  readonly ok: boolean;
  readonly detail: string;
  readonly took_ms: number;
  /** How it reaches the services that it asks; null where it does not say. */
  readonly reaches: Health['checks'] | null;
}

/** What was heard from the engine; null where nothing came. */
export interface EngineEvidence {
  /** Why the bus could not be reached; null where it was. */
  readonly unreachable: string | null;
  /** Answer of `engine::health::check`. */
  readonly health: unknown;
  /** `configuration::get` by id; null where the engine does not know it. */
  readonly configuration: Readonly<Partial<Record<ConfigurationId, unknown>>>;
  /** Ids of `engine::functions::list`. */
  readonly functions: readonly string[] | null;
  readonly worker: WorkerAnswer;
  /** `III_TELEMETRY_ENABLED`, where it is known how the engine was started. */
  readonly telemetryEnabled: string | null;
}

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
      functions: readAs(Functions, functions)?.functions.map(({ function_id }) => function_id) ?? null,
      configuration: Object.fromEntries(
        configurationIds.map((id, index) => [id, readAs(Configuration, values[index])?.value ?? null]),
      ),
      worker,
    };
  } catch (error) {
    return unreachableEngine(messageOf(error));
  } finally {
    inBackground('the connection to the bus', () => bus.close());
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

/** null for what the codec does not fit. */
function readAs<A>(codec: t.Decoder<unknown, A>, value: unknown): A | null {
  return matches(codec, value) ? (value as A) : null;
}

/** What our own engine says of itself under its own name; an iii does not know it. */
const Own = t.strict({
  version: t.string,
  config_file_active: t.boolean,
});
const Version = t.strict({ version: t.string });
const Telemetry = t.strict({ enabled: t.boolean });
const Store = t.strict({ adapter: t.strict({ config: t.strict({ store_method: t.string }) }) });

const stores: readonly ConfigurationId[] = ['iii-state', 'iii-stream', 'iii-queue', 'iii-cron'];

interface Fact {
  readonly value: boolean | null;
  /** Why it is not known. */
  readonly why: string;
}

export function engineReport(url: string, evidence: EngineEvidence): EngineReport {
  const own = readAs(Own, evidence.configuration['core-bus-engine']);
  const facts = {
    telemetry_disabled: telemetry(evidence, own !== null),
    in_memory_warning_present: inMemory(evidence, own !== null),
    config_file_active: own === null ? configFile(evidence) : { value: own.config_file_active, why: '' },
  };
  const unknown = Object.entries(facts).filter(([, { value }]) => value === null);
  const ids = Object.values(functionIds);
  const registered = ids.filter((id) => evidence.functions?.includes(id));
  return {
    url,
    engine: own === null ? foreignName(evidence) : `core-bus-engine ${own.version}`,
    telemetry_disabled: facts.telemetry_disabled.value,
    in_memory_warning_present: facts.in_memory_warning_present.value,
    config_file_active: facts.config_file_active.value,
    functions: { registered, missing: ids.filter((id) => !registered.includes(id)) },
    unknown: Object.fromEntries(unknown.map(([name, { why }]) => [name, evidence.unreachable ?? why])),
  };
}

function foreignName({ health, unreachable }: EngineEvidence): string | null {
  if (unreachable !== null) return null;
  const version = readAs(Version, health)?.version;
  return version === undefined ? 'iii' : `iii ${version}`;
}

/** Ours says it of itself; an iii has it of the environment that it is started with. */
function telemetry({ unreachable, configuration, telemetryEnabled }: EngineEvidence, ours: boolean): Fact {
  const answer = readAs(Telemetry, configuration['iii-telemetry']);
  if (ours && answer !== null) return { value: !answer.enabled, why: '' };
  if (unreachable === null && telemetryEnabled !== null)
    return { value: /^(false|0)$/.test(telemetryEnabled), why: '' };
  return {
    value: null,
    why: 'its environment is not known here; III_TELEMETRY_ENABLED=false turns it off',
  };
}

/** A store in memory loses all at a restart. */
function inMemory({ configuration }: EngineEvidence, ours: boolean): Fact {
  const methods = stores.map((id) => storeMethod(configuration[id])).filter((method) => method !== null);
  if (methods.some((method) => method !== 'file_based')) return { value: true, why: '' };
  // Ours has no store but that of cron; an iii has all four.
  if (methods.length === stores.length || (ours && methods.length > 0)) return { value: false, why: '' };
  const silent = stores.filter((id) => storeMethod(configuration[id]) === null);
  return { value: null, why: `it does not say where ${silent.join(', ')} keep their data` };
}

/** An iii without its file has empty defaults, with every store in memory. */
function configFile({ configuration }: EngineEvidence): Fact {
  const methods = stores.map((id) => storeMethod(configuration[id])).filter((method) => method !== null);
  if (methods.length > 0) return { value: methods.includes('file_based'), why: '' };
  return { value: null, why: 'its configuration does not say' };
}

function storeMethod(value: unknown): string | null {
  return readAs(Store, value)?.adapter.config.store_method ?? null;
}
