import * as t from 'io-ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import type { EngineReport } from '#kit/contracts/status.ts';
import { matches } from '#kit/decode.ts';
import type { ConfigurationId, EngineEvidence } from './engine-evidence.ts';

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

/** From what was heard to the facts of the report. */
export function engineReport(url: string, evidence: EngineEvidence): EngineReport {
  const own = ownAnswer(evidence);
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

function ownAnswer({ configuration }: EngineEvidence): t.TypeOf<typeof Own> | null {
  const answer = configuration['core-bus-engine'];
  return matches(Own, answer) ? (answer as t.TypeOf<typeof Own>) : null;
}

function foreignName({ health, unreachable }: EngineEvidence): string | null {
  if (unreachable !== null) return null;
  return matches(Version, health) ? `iii ${(health as t.TypeOf<typeof Version>).version}` : 'iii';
}

/** Ours says it of itself; an iii has it of the environment that it is started with. */
function telemetry({ unreachable, configuration, telemetryEnabled }: EngineEvidence, ours: boolean): Fact {
  const answer = configuration['iii-telemetry'];
  if (ours && matches(Telemetry, answer))
    return { value: !(answer as t.TypeOf<typeof Telemetry>).enabled, why: '' };
  if (unreachable === null && telemetryEnabled !== null)
    return { value: /^(false|0)$/.test(telemetryEnabled), why: '' };
  return {
    value: null,
    why: 'nobody here tells what the engine was started with; III_TELEMETRY_ENABLED=false turns it off',
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
  return { value: null, why: 'its configuration does not tell' };
}

function storeMethod(value: unknown): string | null {
  return matches(Store, value) ? (value as t.TypeOf<typeof Store>).adapter.config.store_method : null;
}
