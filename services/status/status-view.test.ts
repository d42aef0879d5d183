import { expect } from 'chai';
import type { EndpointReport, StatusReport, UnitReport } from '#kit/contracts/status.ts';
import { displayWith } from '../../test/fixtures/terminal/display.ts';
import { statusView } from './status-view.ts';

const judged = { ok: true, required: true, detail: 'ok', fix: null };
const unit: UnitReport = { ...judged, state: 'running', pid: 7, restarts: 0, since: null };
const endpoint: EndpointReport = {
  ...judged,
  url: 'http://127.0.0.1:7817/healthz',
  status: 200,
  health: null,
  took_ms: 1,
};
const run: StatusReport['latest_runs'][number] = {
  run_id: 'run_0199f3c2-71ab-7000-8000-000000000000',
  status: 'awaiting_approval',
  ...{ forge: 'local', owner: 'demo', repo: 'hello', number: 1, title: 'Greeting', role: 'Depute' },
  ...{ created_at: '2026-11-21T09:00:00.000Z', updated_at: '2026-11-21T09:57:00.000Z' },
  ...{ highest_risk: 'medium', waiting: 3, waits_for: 'publish', actions: 7 },
};

function view(change: Partial<StatusReport>, width = 80): string {
  const report = {
    ...{ ok: true, services: {}, http: {}, here: {}, problems: [], warnings: [], latest_runs: [] },
    storage: { runs_count: 0, detail: 'readable' },
    ...change,
  } as unknown as StatusReport;
  return statusView(report, {
    display: displayWith(width),
    color: false,
    now: new Date('2026-11-21T10:00:00.000Z'),
    named: (text) => text,
  });
}

describe('The status on a terminal', () => {
  it('is a line for each part, the runs, and last what to do', () => {
    const health = { status: 'degraded', service: '', version: '', checks: {} } as const;
    const shown = view({
      ok: false,
      services: {
        'core-agentd': unit,
        'core-bridge': { ...unit, ok: false, state: 'waiting', detail: 'ended: SIGKILL' },
        'core-context': { ...unit, ok: false, state: 'missing', detail: 'does not run' },
        'core-bus-engine': { ...unit, state: 'left_out', required: false, detail: 'by --without' },
        'core-bus-worker': unit,
      },
      http: {
        'core-agentd': endpoint,
        'core-context': { ...endpoint, ok: false, status: null, detail: 'nobody answers' },
        'core-bus-worker': { ...endpoint, ok: false, status: null, detail: 'does not answer within 10 s' },
        'core-model-gateway': { ...endpoint, health, detail: 'degraded; models: no model is configured' },
      },
      storage: { runs_count: 3, detail: 'readable' },
      latest_runs: [run],
      problems: [{ part: 'services.core-context', detail: 'does not run', fix: 'Start it: ./core up' }],
      warnings: [
        {
          part: 'http.core-model-gateway',
          detail: 'degraded; models: no model is configured',
          fix: null,
        },
        { part: 'iii', detail: 'the engine sends telemetry', fix: null },
      ],
    });
    expect(shown).to.equal(
      `core-agentd         ok        http://127.0.0.1:7817
core-bridge         waiting   ended: SIGKILL
core-context        away      does not run
core-bus-engine     off       by --without
core-bus-worker     silent    does not answer within 10 s
core-model-gateway  degraded  models: no model is configured

runs  3, the newest 1
  run_0199f3c2-71ab  publish waits  demo/hello#1  3 min ago  Greeting

Not well.
problem  core-context: does not run
     do  Start it: ./core up
warning  iii: the engine sends telemetry
`,
    );
  });

  it('shows a standby as one, with who is active', () => {
    const health = { status: 'standby', service: '', version: '', checks: {} } as const;
    const detail = 'standby; active: core-context is active on a.example.org';
    const shown = view({ http: { 'core-context': { ...endpoint, status: 503, health, detail } } });
    expect(shown).to.match(/^core-context {2}standby {2}core-context is active on a\.example\.org$/m);
  });

  it('has a line of its own for a service of this host that clients reach elsewhere', () => {
    const health = { status: 'standby', service: '', version: '', checks: {} } as const;
    const detail = 'standby; active: core-context is active on a.example.org';
    const shown = view({
      services: {
        'core-context': unit,
        'core-agentd': { ...unit, ok: false, state: 'waiting', detail: 'ended: SIGKILL' },
      },
      http: {
        'core-context': { ...endpoint, url: 'https://context.example.org/healthz' },
        'core-agentd': { ...endpoint, url: 'https://core.example.org/healthz' },
      },
      here: { 'core-context': { ...endpoint, status: 503, health, detail } },
    });
    expect(shown).to.match(
      /^core-context +ok +https:\/\/context.example.org\ncore-context here +standby +core-context is active on a\.example\.org\ncore-agentd +ok +https:\/\/core.example.org\ncore-agentd here +waiting +ended: SIGKILL$/m,
    );
  });

  it('keeps to the width of the terminal, and shows what others wrote as text', () => {
    const title = `\x1b[2J${'long '.repeat(40)}`;
    const shown = view({ storage: { runs_count: 1, detail: 'readable' }, latest_runs: [{ ...run, title }] });
    expect(shown).to.not.contain('\x1b');
    expect(Math.max(...shown.split('\n').map(({ length }) => length))).to.equal(80);
  });

  it('says where the runs were read, and why they are not known', () => {
    const detail = 'read from the disk: core-agentd does not answer';
    expect(view({ storage: { runs_count: 2, detail } })).to.contain(`runs  2, the newest 0; ${detail}`);
    expect(view({ storage: { runs_count: null, detail: 'no' } })).to.contain('runs  unknown: no\n');
  });
});
