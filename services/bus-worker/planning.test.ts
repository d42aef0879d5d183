import { expect } from 'chai';
import type { BusCall } from '#kit/bus/bus.ts';
import type { PlanIssueRequest } from '#kit/contracts/bus/plan-issue.ts';
import {
  type ScriptedAnswer,
  type ScriptedService,
  startScriptedService,
} from '../../test/fixtures/http/scripted-service.ts';
import { until } from '../../test/fixtures/until.ts';
import { Planning } from './planning.ts';

const request: PlanIssueRequest = {
  event_id: 'board 7 – ärger',
  owner: 'demo',
  repo: 'hello',
  number: 7,
  task: undefined,
  forge: null,
  role: 'triage',
  planner: undefined,
  keep: undefined,
  anyway: undefined,
  trigger: undefined,
  event_actor: undefined,
};
const accepted = { run_id: 'run_7', status: 'planning', events: '/v1/runs/run_7/events' };

describe('planning for an event', () => {
  let service: ScriptedService;
  let script: ScriptedAnswer[];

  beforeEach(async () => {
    script = [];
    service = await startScriptedService(() => script.shift() ?? [500, { the: 'script is over' }]);
  });

  afterEach(() => service.close());

  const planning = (change: { withinMs?: () => number; awayMs?: number } = {}) =>
    new Planning({ agentd: service.client, withinMs: () => 60_000, ...change });
  const call = (): BusCall => ({ caller: null, signal: new AbortController().signal, traceparent: null });

  it('makes the run under a key of the event, and waits until its plan is sealed', async () => {
    script = [
      [202, { ...accepted, created: true }],
      [200, run('planning')],
      [200, run('planning')],
      [200, planned()],
    ];
    expect(await planning().plan(request, call())).to.deep.equal({
      ok: true,
      run_id: 'run_7',
      status: 'awaiting_approval',
      created: true,
      actions: 0,
    });
    expect(service.asked.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      'POST /v1/runs',
      'GET /v1/runs/run_7',
      'GET /v1/runs/run_7',
      'GET /v1/runs/run_7',
    ]);
    const [{ headers, body }] = service.asked as [(typeof service.asked)[number]];
    expect(headers['idempotency-key']).to.match(/^event-[0-9a-f]{64}$/);
    expect(body).to.deep.equal({
      owner: 'demo',
      repo: 'hello',
      number: 7,
      role: 'triage',
      trigger: { kind: 'bus', event_id: 'board 7 – ärger' },
    });
  });

  it('is one for equal requests at the same time', async () => {
    script = [
      [202, { ...accepted, created: true }],
      [200, planned()],
    ];
    const one = planning();
    const results = await Promise.all([1, 2, 3].map(() => one.plan(request, call())));
    expect(results.map((result) => result.ok && result.created)).to.deep.equal([true, false, false]);
    expect(service.asked).to.have.lengthOf(2);
  });

  it('asks again with the same key when nobody plans the run any more', async () => {
    script = [
      [202, { ...accepted, created: true }],
      [200, run('interrupted')],
      [202, { ...accepted, created: false }],
      [200, planned()],
    ];
    expect(await planning().plan(request, call())).to.include({ ok: true, created: true });
    const keys = service.asked.map(({ headers }) => headers['idempotency-key']).filter(Boolean);
    expect(keys).to.have.lengthOf(2);
    expect(new Set(keys).size).to.equal(1);
  });

  it('waits for a daemon that is away for a moment, and not longer', async () => {
    script = ['cut', [503, problem('ending')], [202, accepted], [200, planned()]];
    expect(await planning().plan(request, call())).to.include({ ok: true, created: false });
    script = Array<ScriptedAnswer>(50).fill([503, problem('too_busy')]);
    const error = await failure(planning({ awayMs: 0 }).plan(request, call()));
    expect(error).to.include({ code: 'too_busy', retryable: true });
  });

  it('leaves a forge that does not answer to who asked', async () => {
    const before = service.asked.length;
    script = Array<ScriptedAnswer>(3).fill([503, problem('forge_unavailable')]);
    const error = await failure(planning().plan(request, call()));
    expect(error).to.include({ code: 'forge_unavailable', retryable: true });
    expect(service.asked).to.have.lengthOf(before + 1);
  });

  it('gives a planning that failed as a value with its run', async () => {
    for (const retryable of [true, false]) {
      const failed = { ...run('failed'), failure: { code: 'forge_down', message: 'no answer', retryable } };
      script = [
        [202, accepted],
        [200, failed],
      ];
      expect(await planning().plan(request, call())).to.deep.equal({
        ok: false,
        error: {
          code: 'forge_down',
          message: 'no answer',
          status: retryable ? 503 : 422,
          retryable,
          errors: undefined,
          hint: undefined,
        },
        run_id: 'run_7',
      });
    }
    script = [
      [202, accepted],
      [200, run('cancelled')],
    ];
    const cancelled = await planning().plan(request, call());
    expect(cancelled.ok ? null : cancelled.error).to.include({ code: 'run_cancelled', retryable: false });
  });

  it('does not hide what the daemon refuses', async () => {
    script = [[422, { ...problem('idempotency_key_reused'), status: 422 }]];
    expect(await failure(planning().plan(request, call()))).to.include({
      code: 'idempotency_key_reused',
      retryable: false,
    });
  });

  it('ends at its time and says that the planning goes on', async () => {
    script = [[202, accepted], ...Array<ScriptedAnswer>(100).fill([200, run('planning')])];
    const error = await failure(planning({ withinMs: () => 1 }).plan(request, call()));
    expect(error).to.include({ code: 'planning_unfinished', retryable: true });
  });

  it('stops asking when the bus is closed', async () => {
    const stop = new AbortController();
    script = [[202, accepted], ...Array<ScriptedAnswer>(1_000).fill([200, run('planning')])];
    const work = failure(planning().plan(request, { ...call(), signal: stop.signal }));
    await until('a second question', () => service.asked.length >= 2);
    stop.abort();
    await work;
    const pause = () => new Promise((resolve) => setTimeout(resolve, 150));
    await pause();
    const asked = service.asked.length;
    await pause();
    expect(service.asked.length).to.equal(asked);
  });
});

function run(status: string): object {
  return {
    run_id: 'run_7',
    status,
    request: {},
    created_at: '2026-11-22T08:00:00.000Z',
    updated_at: '2026-11-22T08:00:00.000Z',
    waiting: 0,
    waits_for: null,
    head: { seq: 2, hash: 'h' },
    recoveries: [],
    source: null,
    issue: null,
    plan: null,
    actions: [],
    usage: null,
    failure: null,
    execution: null,
    workspace: null,
    undo: null,
    pull_request: null,
    conversation: { prompt: null, turns: [], transcript: [] },
    agent: null,
    masked: [],
    cancelling: false,
    superseded_by: null,
    base_moved: null,
    issue_changed: null,
    renamed: null,
  };
}

function planned(): object {
  return { ...run('awaiting_approval'), plan: {} };
}

function problem(code: string): object {
  return { type: 'about:blank', title: 'x', status: 503, detail: code, code };
}

async function failure(work: Promise<unknown>): Promise<Error & { code: string; retryable: boolean }> {
  try {
    await work;
  } catch (error) {
    return error as Error & { code: string; retryable: boolean };
  }
  throw new Error('it did not fail');
}
