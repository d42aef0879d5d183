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

/** Lines of iii 0.22.1. */
const lines = {
  inMemory: /DO NOT USE IN_MEMORY STORE_METHOD IN PRODUCTION|Unknown store_method, defaulting to in_memory/,
  telemetryOff: 'Anonymous telemetry disabled',
  /** It found no configuration file and wrote an empty one. */
  emptyConfig: /^.*\bCreated \S+\.ya?ml/m,
  /** With the number of entries that it read. */
  building: /Building engine with (\d+) workers/,
};

interface Fact {
  readonly value: boolean | null;
  /** Why it is not known. */
  readonly why: string;
}

/** From what was heard to the facts of the report. */
export function engineReport(url: string, evidence: EngineEvidence): EngineReport {
  const own = ownAnswer(evidence);
  const facts = {
    telemetry_disabled: telemetry(evidence),
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

function telemetry({ configuration, log }: EngineEvidence): Fact {
  if (log?.includes(lines.telemetryOff)) return { value: true, why: '' };
  const answer = configuration['iii-telemetry'];
  if (matches(Telemetry, answer)) return { value: !(answer as t.TypeOf<typeof Telemetry>).enabled, why: '' };
  return {
    value: null,
    why: 'neither its configuration nor a log tells; III_TELEMETRY_ENABLED=false turns it off',
  };
}

/** A store in memory loses all at a restart, and the engine warns of it once for each. */
function inMemory({ configuration, log }: EngineEvidence, ours: boolean): Fact {
  if (log !== null && lines.inMemory.test(log)) return { value: true, why: '' };
  const methods = stores.map((id) => storeMethod(configuration[id])).filter((method) => method !== null);
  if (methods.some((method) => method !== 'file_based')) return { value: true, why: '' };
  // Ours has no store but that of cron; an iii has all four.
  if (methods.length === stores.length || (ours && methods.length > 0)) return { value: false, why: '' };
  // The warnings come at the start: a log that reaches back to it and has none says that there are none.
  if (log !== null && lines.building.test(log)) return { value: false, why: '' };
  const silent = stores.filter((id) => storeMethod(configuration[id]) === null);
  return {
    value: null,
    why: `it does not say where ${silent.join(', ')} keep their data, and there is no log of its start`,
  };
}

/** An iii without its file has empty defaults, with every store in memory. */
function configFile({ configuration, log }: EngineEvidence): Fact {
  if (log !== null && lines.emptyConfig.test(log)) return { value: false, why: '' };
  const methods = stores.map((id) => storeMethod(configuration[id])).filter((method) => method !== null);
  if (methods.includes('file_based')) return { value: true, why: '' };
  if (methods.length > 0) return { value: false, why: '' };
  const workers = log === null ? null : lines.building.exec(log)?.[1];
  if (workers != null) return { value: Number(workers) > 0, why: '' };
  return { value: null, why: 'neither its configuration nor a log tells' };
}

function storeMethod(value: unknown): string | null {
  return matches(Store, value) ? (value as t.TypeOf<typeof Store>).adapter.config.store_method : null;
}
