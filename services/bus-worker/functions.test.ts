import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { Bus } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { memoryBus } from '../../test/fixtures/bus/memory-bus.ts';
import {
  type ScriptedAnswer,
  type ScriptedService,
  startScriptedService,
} from '../../test/fixtures/http/scripted-service.ts';
import { describedFunctions, platformFunctions } from './functions.ts';
import { Planning } from './planning.ts';

const map = {
  roles: [{ key: 'default', name: 'Depute', purpose: 'General implementation', plans: true }],
  default_role: 'Depute',
};
const health = { status: 'ok', service: 'core-agentd', version: '1', checks: {} };
const answers: Readonly<Record<string, unknown>> = {
  'GET /healthz': health,
  'GET /v1/agents/map': map,
  'POST /v1/graphrag/search': { results: [], source: 'record', took_ms: 1 },
  'POST /v1/memory/lookup': {
    results: [],
    source: 'record',
    took_ms: 1,
    unknown_about: [],
    unknown_source: null,
  },
  'POST /v1/graphdb/cypher': {
    columns: ['n'],
    rows: [{ n: 1 }],
    truncated: false,
    took_ms: 1,
    engine: 'grafeo',
  },
  'POST /v1/runs': { run_id: 'run_1', status: 'planning', events: '/v1/runs/run_1/events', created: true },
  'GET /v1/runs/run_1': {
    run_id: 'run_1',
    status: 'awaiting_approval',
    waiting: 0,
    waits_for: null,
    request: {},
    created_at: '2026-11-22T08:00:00.000Z',
    updated_at: '2026-11-22T08:00:00.000Z',
    head: { seq: 9, hash: 'h' },
    source: null,
    issue: null,
    plan: {},
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
    recoveries: [],
  },
};
const requests: Readonly<Record<string, object>> = {
  [functionIds.health]: {},
  [functionIds.search]: { query: 'greeting', limit: 2 },
  [functionIds.lookup]: { query: 'greeting', layer: 'semantic' },
  [functionIds.cypher]: { query: 'RETURN 1 AS n', params: { a: 1 } },
  [functionIds.agentMap]: {},
  [functionIds.planIssue]: { event_id: 'e', owner: 'demo', repo: 'hello', number: 1 },
};

describe("the platform's functions", () => {
  let service: ScriptedService;
  let bus: Bus;
  let answer: (key: string) => ScriptedAnswer;

  beforeEach(async () => {
    answer = (key) => [200, answers[key]];
    service = await startScriptedService(({ method, path }) => answer(`${method} ${path}`));
    bus = memoryBus().connect('worker');
    const { client } = service;
    const services = { agentd: client, context: client, bridge: client, answerMs: 10_000 };
    bus.register(platformFunctions(services, new Planning({ agentd: client, withinMs: () => 60_000 })));
  });

  afterEach(async () => {
    await bus.close();
    await service.close();
  });

  it('are the six of the specification, each described with schemas that its answers keep', async () => {
    const described = describedFunctions();
    expect(described.map(({ id }) => id)).to.deep.equal([
      'core.agent.health',
      'core.graph.search',
      'core.graph.memory_lookup',
      'core.graph.cypher',
      'core.dashboard.agent_map',
      'core.agent.plan_issue',
    ]);
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    for (const { id, description, request, response } of described) {
      expect(description).to.match(/^[A-Z]/);
      expect(ajv.validate(request, requests[id]), `${id}: ${ajv.errorsText()}`).to.equal(true);
      const result = await bus.call(id, requests[id]);
      expect(result, id).to.include({ ok: true });
      expect(ajv.validate(response, result), `${id}: ${ajv.errorsText()}`).to.equal(true);
      answer = () => [422, problem('refused', 422)];
      const refused = await bus.call(id, requests[id]);
      expect(refused, id).to.include({ ok: false });
      expect(ajv.validate(response, refused), `${id}: ${ajv.errorsText()}`).to.equal(true);
      answer = (key) => [200, answers[key]];
    }
  });

  it('ask the service that knows, with the token and the trace, and hand its answer on', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const found = await bus.call(functionIds.search, { query: 'x', limit: 3, later: 1 }, { traceparent });
    expect(found).to.deep.equal({ ok: true, results: [], source: 'record', took_ms: 1 });
    const [asked] = service.asked;
    expect(asked).to.include({ method: 'POST', path: '/v1/graphrag/search' });
    expect(asked!.body).to.deep.equal({ query: 'x', limit: 3 });
    expect(asked!.headers).to.include({ authorization: 'Bearer worker-token', traceparent });
    expect(await bus.call(functionIds.agentMap, {})).to.deep.equal({ ok: true, ...map });
    const { reaches, ...agent } = (await bus.call(functionIds.health, null)) as { reaches: object };
    expect(agent).to.deep.equal({ ok: true, ...health });
    expect(reaches).to.have.keys('agentd', 'context', 'bridge');
    const { rows } = (await bus.call(functionIds.cypher, requests[functionIds.cypher])) as { rows: unknown };
    expect(rows).to.deep.equal([{ n: 1 }]);
  });

  it('give what is wrong with a request as a value, and ask nobody', async () => {
    const wrong: [string, unknown, string][] = [
      [functionIds.search, { query: ' ' }, '/query'],
      [functionIds.search, { query: 'x', limit: 101 }, '/limit'],
      [functionIds.lookup, { query: 'x', layer: 'other' }, '/layer'],
      [functionIds.cypher, { params: {} }, '/query'],
      [functionIds.cypher, 'MATCH (n) RETURN n', ''],
      [functionIds.planIssue, { ...requests[functionIds.planIssue], number: 0 }, '/number'],
      [functionIds.planIssue, { ...requests[functionIds.planIssue], event_id: '' }, '/event_id'],
      [functionIds.planIssue, { event_id: 'e', owner: 'demo', repo: 'hello', task: ' ' }, '/task'],
      [
        functionIds.planIssue,
        { ...requests[functionIds.planIssue], trigger: { kind: 'shell' } },
        '/trigger/kind',
      ],
    ];
    for (const [id, request, pointer] of wrong) {
      const { ok, error } = (await bus.call(id, request)) as {
        ok: boolean;
        error: { code: string; status: number; retryable: boolean; errors: { pointer: string }[] };
      };
      expect(ok).to.equal(false);
      expect(error).to.include({ code: 'invalid_request', status: 400, retryable: false });
      expect(error.errors.map((one) => one.pointer)).to.deep.equal([pointer]);
    }
    expect(service.asked).to.deep.equal([]);
  });

  it('give what a service refuses as a value, with its code, places and advice', async () => {
    const errors = [{ pointer: '/query', detail: 'CREATE writes' }];
    answer = () => [422, { ...problem('cypher_read_only', 422), errors, hint: 'Read.' }];
    expect(await bus.call(functionIds.cypher, { query: 'CREATE (n)' })).to.deep.equal({
      ok: false,
      error: {
        code: 'cypher_read_only',
        message: 'why cypher_read_only',
        status: 422,
        retryable: false,
        errors,
        hint: 'Read.',
      },
    });
  });

  it('say that another try can help where the service is away or busy', async () => {
    answer = () => 'cut';
    expect(await bus.call(functionIds.cypher, { query: 'RETURN 1' })).to.deep.include({ ok: false });
    answer = () => [503, problem('store_busy', 503)];
    const { error } = (await bus.call(functionIds.cypher, { query: 'RETURN 1' })) as { error: object };
    expect(error).to.include({ code: 'store_busy', status: 503, retryable: true });
  });
});

function problem(code: string, status: number): object {
  return { type: 'about:blank', title: 'x', status, detail: `why ${code}`, code };
}
