import { expect } from 'chai';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { type EngineReport, StatusReport, type UnitReport } from '#kit/contracts/status.ts';
import { decode } from '#kit/decode.ts';
import type { Findings } from './check.ts';
import { noManager } from './managers/choose-manager.ts';
import type { Unit } from './managers/service-manager.ts';
import { makeReport } from './report.ts';

const running: Unit = {
  state: 'running',
  pid: 7,
  restarts: 0,
  since: null,
  detail: 'process 7',
  fix: null,
};
const answer = { url: 'http://x', ok: true, status: 200, health: null, took_ms: 1, detail: 'ok', fix: null };
const engine: EngineReport = {
  url: 'ws://127.0.0.1:49134',
  engine: 'core-bus-engine 0.1.0',
  telemetry_disabled: true,
  in_memory_warning_present: false,
  config_file_active: true,
  functions: { registered: Object.values(functionIds), missing: [] },
  unknown: {},
};

function found(change: Partial<Findings> = {}, units: Record<string, Partial<Unit>> = {}): Findings {
  const all = new Map<string, Unit>(platformServices.map((name) => [name, running]));
  for (const [name, unit] of Object.entries(units)) all.set(name, { ...running, ...unit });
  const manager = {
    kind: 'embedded',
    detail: './core up',
    units: async () => all,
    environment: async () => null,
  };
  return {
    version: '0.1.0',
    took_ms: 3,
    managed: { manager: manager as Findings['managed']['manager'], units: all, problem: null },
    production_like: false,
    optional: [],
    unused: new Map(),
    endpoints: Object.fromEntries(
      platformServices.filter((name) => name !== 'core-bus-worker').map((name) => [name, answer]),
    ),
    here: {},
    engine,
    worker: { ok: true, detail: 'answers calls', took_ms: 2, reaches: null },
    unreachable: null,
    runs: { count: 3, latest: [], detail: 'readable', fix: null },
    smoke: null,
    arrows: [],
    ...change,
  };
}

const parts = ({ problems }: StatusReport) => problems.map(({ part }) => part);

describe('The status report', () => {
  it('is ok when everything required is well, and has every field', () => {
    const report = makeReport(found());
    expect(report.ok).to.equal(true);
    expect(report.problems).to.deep.equal([]);
    expect(Object.keys(report.services)).to.deep.equal([...platformServices]);
    expect(report.storage.runs_count).to.equal(3);
    expect(decode(StatusReport, JSON.parse(JSON.stringify(report)), 'report')).to.deep.equal(report);
  });

  it('has a problem for each service and endpoint that is not well, with what to do', () => {
    const report = makeReport(
      found(
        { endpoints: { ...found().endpoints, 'core-context': { ...answer, ok: false, fix: 'start it' } } },
        { 'core-bridge': { state: 'waiting', detail: 'ended: SIGKILL', fix: 'look' } },
      ),
    );
    expect(report.ok).to.equal(false);
    expect(report.problems).to.deep.equal([
      { part: 'services.core-bridge', detail: 'ended: SIGKILL', fix: 'look' },
      { part: 'http.core-context', detail: 'ok', fix: 'start it' },
    ]);
  });

  it('is ok and warns of nothing while a standby stands by', () => {
    const active = { status: 'ok', detail: 'core-context is active on a.example.org' } as const;
    const health = { status: 'standby', service: 'core-context', version: '', checks: { active } } as const;
    const standby = { ...answer, status: 503, health };
    const { ok, problems, warnings } = makeReport(found({ here: { 'core-context': standby } }));
    expect({ ok, problems, warnings }).to.deep.equal({ ok: true, problems: [], warnings: [] });
    const endpoints = { ...found().endpoints, 'core-context': standby };
    const asked = makeReport(found({ endpoints }));
    expect(asked.ok).to.equal(true);
    expect(asked.warnings.map(({ part }) => part)).to.deep.equal(['http.core-context']);
    expect(asked.warnings[0]!.fix).to.contain('context.url');
  });

  it('has a problem for a service of this host that is not well, whoever answers clients elsewhere', () => {
    const here = { 'core-agentd': { ...answer, ok: false, detail: 'failing' } };
    expect(parts(makeReport(found({ here })))).to.deep.equal(['here.core-agentd']);
    const silent = { ...answer, ok: false, status: null, fix: 'Start it: ./core up' };
    const endpoints = { ...found().endpoints, 'core-agentd': silent };
    const { problems } = makeReport(found({ endpoints, here: { 'core-agentd': answer } }));
    expect(problems.map(({ fix }) => fix)).to.deep.equal([
      'It is a proxy or another host: start it there, or correct the address: ./core config show',
    ]);
  });

  it('requires nothing that is left out, unused or optional', () => {
    const down: Partial<Unit> = { state: 'missing', detail: 'does not run' };
    const endpoints = { ...found().endpoints, 'core-bridge': { ...answer, ok: false } };
    const optional = makeReport(found({ optional: ['core-bridge'], endpoints }, { 'core-bridge': down }));
    expect(optional.ok).to.equal(true);
    expect(optional.warnings.map(({ part }) => part)).to.deep.equal([
      'services.core-bridge',
      'http.core-bridge',
    ]);
    const left = makeReport(
      found({ endpoints }, { 'core-bridge': { state: 'left_out', detail: '--without' } }),
    );
    expect(left.ok).to.equal(true);
    const unused = makeReport(
      found({ unused: new Map([['core-context', 'context.url is null']]) }, { 'core-context': down }),
    );
    expect(unused.ok).to.equal(true);
    expect((unused.services['core-context'] as UnitReport).detail).to.equal('context.url is null');
  });

  it('takes memory, telemetry and what is not known for problems where it is production-like alone', () => {
    const weak = {
      ...engine,
      telemetry_disabled: false,
      in_memory_warning_present: true,
      config_file_active: null,
      unknown: { config_file_active: 'no log' },
    };
    const facts = ['iii.telemetry_disabled', 'iii.in_memory_warning_present', 'iii.config_file_active'];
    const here = makeReport(found({ engine: weak }));
    expect(here.ok).to.equal(true);
    expect(here.warnings.map(({ part }) => part)).to.deep.equal(facts);
    const there = makeReport(found({ engine: weak, production_like: true }));
    expect(there.ok).to.equal(false);
    expect(parts(there)).to.deep.equal(facts);
  });

  it('names each way between services, and for a team one that cannot be gone is a problem', () => {
    const check = (status: 'ok' | 'degraded', detail: string) => ({ status, detail });
    const backlog = { waiting: 2, oldest_seconds: 700 };
    const health = {
      ...{ status: 'degraded' as const, service: 'core-agentd', version: '0.1.0' },
      checks: {
        context: check('degraded', 'the token is unknown to this installation'),
        model_gateway: check('ok', 'answers'),
        context_outbox: { ...check('ok', '2 wait'), backlog },
      },
    };
    const endpoints = { ...found().endpoints, 'core-agentd': { ...answer, health } };
    const report = makeReport(found({ endpoints, production_like: true }));
    expect(report.arrows).to.deep.equal([
      {
        from: 'core-agentd',
        to: 'core-context',
        ok: false,
        detail: 'the token is unknown to this installation',
      },
      { from: 'core-agentd', to: 'core-model-gateway', ok: true, detail: 'answers' },
    ]);
    expect(report.backlogs).to.deep.equal([{ service: 'core-agentd', queue: 'context_outbox', ...backlog }]);
    expect(parts(report)).to.deep.equal(['arrows.core-agentd']);
    expect(report.problems[0]!.detail).to.match(
      /^core-agentd does not reach core-context: the token is unknown/,
    );
    const atHome = makeReport(found({ endpoints }));
    expect([atHome.ok, atHome.warnings.map(({ part }) => part)]).to.deep.equal([true, ['http.core-agentd']]);
  });

  it('says what the worker does not reach', () => {
    const bridge = { status: 'degraded' as const, detail: 'nobody answers' };
    const worker = { ok: true, detail: 'answers calls', took_ms: 1, reaches: { bridge } };
    const { http, arrows } = makeReport(found({ worker }));
    expect(http['core-bus-worker']!.detail).to.equal('degraded; bridge: nobody answers');
    expect(arrows).to.deep.equal([
      { from: 'core-bus-worker', to: 'core-bridge', ok: false, detail: 'nobody answers' },
    ]);
  });

  it('says once that the bus is not reached, and which functions are missing where it is', () => {
    const unreachable = 'ECONNREFUSED';
    const worker = { ok: false, detail: `the bus is not reached: ${unreachable}`, took_ms: 0, reaches: null };
    const away = makeReport(found({ unreachable, worker, engine: { ...engine, engine: null } }));
    expect(parts(away)).to.deep.equal(['http.core-bus-worker', 'iii']);
    const functions = { registered: [functionIds.health], missing: [functionIds.planIssue] };
    const some = makeReport(found({ engine: { ...engine, functions } }));
    expect(some.problems[0]?.detail).to.contain(functionIds.planIssue);
  });

  it('has a warning for an optional bus, and none for services whose state is unknown', () => {
    const worker = { ok: false, detail: 'the bus is not reached', took_ms: 0, reaches: null };
    const away = { unreachable: 'ECONNREFUSED', worker, engine: { ...engine, engine: null } };
    const optional = ['core-bus-engine', 'core-bus-worker'];
    const managed = {
      manager: noManager,
      units: new Map(platformServices.map((name) => [name, { ...running, state: 'unknown' as const }])),
      problem: null,
    };
    const report = makeReport(found({ ...away, optional, managed, production_like: true }));
    expect(report.ok).to.equal(true);
    expect(report.warnings.map(({ part }) => part)).to.deep.equal(['http.core-bus-worker', 'iii']);
    expect(parts(makeReport(found({ ...away, managed })))).to.deep.equal(['http.core-bus-worker', 'iii']);
  });

  it('is not ok when the smoke run is not, or core-agentd keeps its runs to itself', () => {
    const steps = [{ step: 'event to the bridge', ok: false, detail: 'refused', took_ms: 1 }];
    const smoke = { ok: false, run_id: null, event_id: null, steps, repositories: [], changed: [] };
    expect(makeReport(found({ smoke })).problems).to.deep.equal([
      { part: 'smoke', detail: 'event to the bridge: refused', fix: null },
    ]);
    const runs = { count: null, latest: [], detail: '401', fix: null };
    expect(parts(makeReport(found({ runs })))).to.deep.equal(['storage']);
  });

  it('says that the service manager cannot be asked', () => {
    const problem = { detail: 'docker does not answer', fix: 'start it' };
    const managed = { ...found().managed, units: new Map(), problem };
    const report = makeReport(found({ managed }));
    expect(parts(report)).to.deep.equal(['manager']);
    expect(report.services['core-agentd']?.state).to.equal('unknown');
  });
});
