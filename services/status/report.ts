import { type HealthCheck, healthOf } from '#kit/contracts/health.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import type { EndpointReport, SmokeReport, StatusReport, UnitReport } from '#kit/contracts/status.ts';
import type { Findings } from './check.ts';
import { describeHealth } from './endpoints.ts';
import type { Managed } from './managers/choose-manager.ts';
import type { Unit } from './managers/service-manager.ts';
import { fixByUnits } from './summary.ts';

type Remark = StatusReport['problems'][number];

/** The report: what is required and not well is a problem, what works with a limit a warning. */
export function makeReport(found: Findings): StatusReport {
  const services = serviceReports(found);
  const http = endpointReports(found);
  const here = hereReports(found);
  const facts = engineRemarks(found);
  const unknownState = found.managed.manager.kind === 'none' ? 'unknown' : null;
  const mayBeAway = found.optional.includes('core-bus-engine') && found.unreachable !== null;
  const isProblem = (part: string) => !mayBeAway && (found.production_like || part === 'iii');
  const { kind, detail: manager } = found.managed.manager;
  /** The remark with the command of whoever runs the services. */
  const typed = (remark: Remark): Remark =>
    kind === 'compose' && remark.fix !== null
      ? { ...remark, fix: remark.fix.replaceAll('./core up', `${manager} up --detach --wait`) }
      : remark;
  const problems: Remark[] = [
    ...(found.managed.problem === null ? [] : [{ part: 'manager', ...found.managed.problem }]),
    ...remarks('services', services, ({ ok, required }) => required && !ok),
    ...remarks('http', http, ({ ok, required }) => required && !ok),
    ...remarks('here', here, ({ ok, required }) => required && !ok),
    ...facts.filter(({ part }) => isProblem(part)),
    ...arrowRemarks(found, http),
    ...storageRemarks(found),
    ...smokeRemarks(found.smoke),
  ];
  const warnings: Remark[] = [
    ...remarks('services', services, ({ ok, required, state }) => !required && !ok && state !== unknownState),
    ...remarks('http', http, ({ ok, required }) => !required && !ok),
    ...remarks('here', here, ({ ok, required }) => !required && !ok),
    ...degraded('http', http),
    ...degraded('here', here),
    ...asked(http),
    ...facts.filter(({ part }) => !isProblem(part)),
  ];
  return {
    ok: problems.length === 0,
    version: found.version,
    at: new Date().toISOString(),
    took_ms: found.took_ms,
    manager: {
      kind: found.managed.manager.kind,
      production_like: found.production_like,
      detail: found.managed.manager.detail,
    },
    services,
    http,
    here,
    iii: found.engine,
    arrows: found.arrows.concat(arrowsIn(http)),
    backlogs: backlogsIn(http),
    storage: { runs_count: found.runs.count, detail: found.runs.detail },
    latest_runs: [...found.runs.latest],
    problems: problems.map(typed),
    warnings: warnings.map(typed),
    smoke: found.smoke,
  };
}

function serviceReports({ managed, unused, optional }: Findings): Record<string, UnitReport> {
  const absent: Unit = {
    state: managed.problem === null ? 'missing' : 'unknown',
    pid: null,
    restarts: null,
    since: null,
    detail: managed.problem === null ? `${managed.manager.detail} has no such service` : 'not known',
    fix: null,
  };
  const names = new Set<string>([...platformServices, ...managed.units.keys()]);
  return Object.fromEntries(
    [...names].map((name) => {
      const unit = managed.units.get(name) ?? absent;
      const why = unused.get(name);
      const required =
        why === undefined &&
        unit.state !== 'left_out' &&
        unit.state !== 'unknown' &&
        !optional.includes(name);
      const detail = why !== undefined && unit.state !== 'running' ? why : unit.detail;
      return [name, { ...unit, detail, ok: isWell(unit), required }];
    }),
  );
}

function isWell({ state }: Unit): boolean {
  return state === 'running' || state === 'left_out';
}

function endpointReports(found: Findings): Record<string, EndpointReport> {
  const { endpoints, worker, engine, managed, optional } = found;
  const leftOut = (name: string) => managed.units.get(name)?.state === 'left_out' || optional.includes(name);
  const asked = Object.entries(endpoints).map(([name, endpoint]) => [
    name,
    {
      ...endpoint,
      // What answers, answers for itself.
      fix: endpoint.status === null ? fixOfSilent(name, endpoint.fix, found) : endpoint.fix,
      required: !leftOut(name),
    },
  ]);
  const { ok, detail, took_ms, reaches } = worker;
  const health = reaches === null ? null : healthOf('core-bus-worker', '', reaches);
  const fix = ok
    ? null
    : found.unreachable === null
      ? fixByUnits(
          ['core-bus-worker', 'core-agentd'],
          managed.units,
          'Look at the log of core-bus-worker, and start it again: ./core up',
        )
      : fixOfEngine(managed);
  const bus: EndpointReport = {
    ...{ ok, took_ms, fix, status: null, health },
    detail: health === null || health.status === 'ok' ? detail : describeHealth(health),
    url: engine.url,
    required: !leftOut('core-bus-worker'),
  };
  return { ...Object.fromEntries(asked), 'core-bus-worker': bus };
}

function fixOfSilent(name: string, otherwise: string | null, { here, managed }: Findings): string | null {
  return name in here
    ? 'It is a proxy or another host: start it there, or correct the address: ./core config show'
    : fixByUnits([name], managed.units, otherwise);
}

function hereReports({ here, optional }: Findings): Record<string, EndpointReport> {
  return Object.fromEntries(
    Object.entries(here).map(([name, endpoint]) => [
      name,
      { ...endpoint, required: !optional.includes(name) },
    ]),
  );
}

function fixOfEngine({ units }: Managed): string | null {
  return fixByUnits(['core-bus-engine'], units, 'Start the engine: ./core up');
}

function remarks<T extends { readonly detail: string; readonly fix: string | null }>(
  part: string,
  reports: Readonly<Record<string, T>>,
  which: (report: T) => boolean,
): Remark[] {
  return Object.entries(reports)
    .filter(([, report]) => which(report))
    .map(([name, { detail, fix }]) => ({ part: `${part}.${name}`, detail, fix }));
}

function degraded(part: string, reports: Readonly<Record<string, EndpointReport>>): Remark[] {
  // A standby is as it should be: the active one does the work.
  const isLimited = ({ ok, health }: EndpointReport) =>
    ok && health !== null && health.status !== 'ok' && health.status !== 'standby';
  return remarks(part, reports, isLimited).map((remark) => ({ ...remark, fix: null }));
}

/** A standby where clients ask answers none of them. */
function asked(http: Readonly<Record<string, EndpointReport>>): Remark[] {
  return remarks('http', http, ({ health }) => health?.status === 'standby').map((remark) => ({
    ...remark,
    fix: 'Give clients a proxy that finds the active one: context.url in core.json.',
  }));
}

function engineRemarks({ engine, unreachable, managed }: Findings): Remark[] {
  if (unreachable !== null) {
    if (managed.units.get('core-bus-engine')?.state === 'left_out' && engine.engine === null) return [];
    const detail = `the bus is not reached at ${engine.url}: ${unreachable}`;
    return [{ part: 'iii', detail, fix: fixOfEngine(managed) }];
  }
  const { registered, missing } = engine.functions;
  const all: readonly (Remark | false)[] = [
    missing.length > 0 &&
      registered.length > 0 && {
        part: 'iii',
        detail: `functions that are not registered: ${missing.join(', ')}`,
        fix: 'Look at the log of core-bus-worker: another worker may hold them.',
      },
    engine.telemetry_disabled === false && {
      part: 'iii.telemetry_disabled',
      detail: 'the engine sends telemetry',
      fix: 'Set III_TELEMETRY_ENABLED=false for the engine.',
    },
    engine.in_memory_warning_present === true && {
      part: 'iii.in_memory_warning_present',
      detail: 'the engine keeps data in memory, which is lost when it ends',
      fix: 'Give state, stream, queue and cron a store_method of file_based in its configuration file.',
    },
    engine.config_file_active === false && {
      part: 'iii.config_file_active',
      detail: 'the engine does not run with its configuration file',
      fix: 'Mount the file where --config names it, read-only, and start the engine again.',
    },
    ...Object.entries(engine.unknown).map(([name, why]) => ({
      part: `iii.${name}`,
      detail: `not known: ${why}`,
      fix: null,
    })),
  ];
  return all.filter((remark) => remark !== false);
}

/** A team relies on every way between services; elsewhere a service that lacks one is reported as degraded. */
function arrowRemarks(found: Findings, http: Readonly<Record<string, EndpointReport>>): Remark[] {
  const own = found.arrows.filter(({ ok }) => !ok);
  // What is not well at one of its ends is reported there.
  const isWell = (name: string) => http[name]?.ok !== false;
  const others = found.production_like
    ? arrowsIn(http).filter(({ ok, from, to }) => !ok && isWell(from) && isWell(to))
    : [];
  return [...own, ...others].map(({ from, to, detail }) => ({
    part: `arrows.${from}`,
    detail: `${from} does not reach ${to}: ${detail}`,
    fix: null,
  }));
}

function storageRemarks({ runs, endpoints }: Findings): Remark[] {
  // Without core-agentd, that its runs are unknown is no news.
  if (runs.count !== null || endpoints['core-agentd']?.ok !== true) return [];
  const fix = runs.fix ?? 'Its log says more; ./core doctor looks at folders and tokens.';
  return [{ part: 'storage', detail: runs.detail, fix }];
}

function smokeRemarks(smoke: SmokeReport | null): Remark[] {
  if (smoke === null || smoke.ok) return [];
  const failed = smoke.steps.find(({ ok }) => !ok);
  const detail = failed === undefined ? 'it did not end well' : `${failed.step}: ${failed.detail}`;
  return [{ part: 'smoke', detail, fix: null }];
}

type Arrow = StatusReport['arrows'][number];

/** The checks of each service that prove its way to another, and what the other is called. */
const proved: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'core-agentd': { context: 'core-context', model_gateway: 'core-model-gateway' },
  'core-context': { neo4j: 'neo4j' },
  'core-model-gateway': { upstreams: 'upstreams of its models' },
  'core-bridge': { agentd: 'core-agentd', bus: 'core-bus-engine', worker: 'core-bus-worker' },
  'core-bus-worker': { agentd: 'core-agentd', context: 'core-context', bridge: 'core-bridge' },
};

type Endpoints = Readonly<Record<string, Pick<EndpointReport, 'health'>>>;

/** The ways between services, as each of them says that it goes them with its own token. */
function arrowsIn(http: Endpoints): Arrow[] {
  return Object.entries(http).flatMap(([from, { health }]) =>
    Object.entries(proved[from] ?? {}).flatMap(([check, to]): Arrow[] => {
      const found = health?.checks[check];
      return found === undefined ? [] : [{ from, to, ok: found.status === 'ok', detail: found.detail }];
    }),
  );
}

function backlogsIn(http: Endpoints): StatusReport['backlogs'] {
  return Object.entries(http).flatMap(([service, { health }]) =>
    Object.entries(health?.checks ?? {}).flatMap(([queue, { backlog }]: [string, HealthCheck]) =>
      backlog === undefined ? [] : [{ service, queue, ...backlog }],
    ),
  );
}
