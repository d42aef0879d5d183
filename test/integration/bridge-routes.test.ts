import { expect } from 'chai';
import type {
  AgentMap,
  EventList,
  EventView,
  IngressReply,
  ProcessReply,
} from '#kit/contracts/bridge/events.ts';
import type { ScheduleList } from '#kit/contracts/bridge/schedules.ts';
import type { SyncReply } from '#kit/contracts/bridge/sync.ts';
import type { Health } from '#kit/contracts/health.ts';
import type { Problem } from '#kit/contracts/problem.ts';
import { type RunningBridge, startBridge } from '../fixtures/bridge/bridge-service.ts';
import { failure } from '../fixtures/bridge/toy-planning.ts';

const ingress = '/v1/ingress/dashboard-issue';

function event(number: number, more: object = {}): object {
  return {
    event_id: `e${number}`,
    kind: 'issue.created',
    occurred_at: '2026-01-01T00:00:00Z',
    issue: {
      ...{ id: String(number), title: `issue ${number}`, status: 'todo' },
      forge: { owner: 'demo', repo: 'hello', number, name: 'local' },
    },
    ...more,
  };
}

describe('the interface of core-bridge', () => {
  let bridge: RunningBridge;

  before(async () => {
    const schedules = [{ name: 'nightly', cron: '0 3 * * *', owner: 'demo', repo: 'hello', role: 'triage' }];
    bridge = await startBridge({ schedules: { schedules } });
  });
  after(() => bridge.close());

  const process = (body: object = {}) => bridge.post('/v1/events/process-next', body);

  it('takes events, lists them, and has them planned one by one', async () => {
    for (const number of [1, 2]) {
      const { status, body } = await bridge.post(ingress, event(number));
      expect([status, (body as IngressReply).state]).to.deep.equal([202, 'pending']);
    }
    const pending = (await bridge.get('/v1/events/pending?limit=1')).body as EventList;
    expect(pending.events.map(({ event_id }) => event_id)).to.deep.equal(['e1']);
    const next = (await bridge.get(`/v1/events/pending?limit=1&cursor=${pending.next_cursor}`))
      .body as EventList;
    expect(next).to.deep.include({ next_cursor: null });
    expect(next.events[0]?.event_id).to.equal('e2');

    const first = (await process()).body as ProcessReply;
    expect(first.event).to.deep.include({ event_id: 'e1', state: 'done', run_id: 'run_1' });
    expect(first.pending).to.equal(1);
    const second = (await process({ event_id: 'e2' })).body as ProcessReply;
    expect(second).to.deep.include({ pending: 0, next_due_at: null });
    expect((await process()).body as ProcessReply).to.deep.include({ event: null });

    const done = (await bridge.get('/v1/events?state=done')).body as EventList;
    expect(done.events.map(({ event_id }) => event_id)).to.deep.equal(['e2', 'e1']);
    expect((await bridge.get('/v1/events/e1')).body as EventView).to.deep.equal(done.events[1]);
    expect((await bridge.post(ingress, event(1))).body as IngressReply).to.deep.include({
      duplicate: true,
      state: 'done',
      run_id: 'run_1',
    });
  });

  it('answers before the planning has ended to those who do not want to wait', async () => {
    await bridge.post(ingress, event(3));
    const { promise, resolve } = Promise.withResolvers<undefined>();
    bridge.planning.answer = () => promise;
    const { status, body } = await process({ wait: false });
    expect(status).to.equal(202);
    expect((body as ProcessReply).event).to.deep.include({ event_id: 'e3', state: 'processing' });
    expect((await process({ event_id: 'e3' })).status).to.equal(409);
    bridge.planning.answer = null;
    resolve(undefined);
    for (;;) {
      const { state } = (await bridge.get('/v1/events/e3')).body as EventView;
      if (state === 'done') break;
      expect(state).to.equal('processing');
    }
  });

  it('makes a dead event pending again', async () => {
    await bridge.post(ingress, event(4));
    bridge.planning.answer = async () => failure({ code: 'forge_refused', status: 422, retryable: false });
    expect(((await process({ event_id: 'e4' })).body as ProcessReply).event?.state).to.equal('dead');
    bridge.planning.answer = null;
    expect((await bridge.post('/v1/events/e4/retry', {})).body as EventView).to.include({ state: 'pending' });
    expect(((await process()).body as ProcessReply).event).to.include({ event_id: 'e4', state: 'done' });
    const again = await bridge.post('/v1/events/e4/retry', {});
    expect([again.status, (again.body as Problem).code]).to.deep.equal([409, 'event_not_dead']);
  });

  it('finds events whatever their ids have in them', async () => {
    const event_id = 'a/b#c?d=%2F ü';
    await bridge.post(ingress, event(5, { event_id }));
    const { body } = await bridge.get(`/v1/events/${encodeURIComponent(event_id)}`);
    expect((body as EventView).event_id).to.equal(event_id);
    await process({ event_id });
  });

  it('says what is wrong with a request, and where', async () => {
    const cases: readonly (readonly [string, number, string])[] = [
      ['/v1/events?state=new', 400, 'invalid_query'],
      ['/v1/events?limit=0', 400, 'invalid_query'],
      ['/v1/events?limit=101', 400, 'invalid_query'],
      ['/v1/events/pending?cursor=x', 400, 'invalid_cursor'],
      ['/v1/events/pending?state=done', 400, 'invalid_query'],
      ['/v1/events/nobody', 404, 'event_not_found'],
    ];
    for (const [path, status, code] of cases) {
      const answer = await bridge.get(path);
      expect([answer.status, (answer.body as Problem).code], path).to.deep.equal([status, code]);
    }
    expect((await bridge.post('/v1/events/process-next', { event: 'e1' })).status).to.equal(400);
    expect((await bridge.post('/v1/events/process-next', {}, {})).status).to.equal(401);
    expect((await bridge.post('/v1/sync/agent-to-dashboard', {}, {})).status).to.equal(401);
  });

  it('says which role works for which key', async () => {
    const map = (await bridge.get('/v1/agents/map')).body as AgentMap;
    expect(map.default_role).to.equal('Depute');
    expect(map.roles.map(({ key, name }) => `${key} ${name}`)).to.deep.equal([
      ...['architect Purveyour', 'default Depute', 'review Assayour', 'triage Avisour', 'ops Steward'],
      ...['executor Baillif', 'release Factour'],
    ]);
  });

  it('offers the bus what it calls each minute, and lists the schedules', async () => {
    const caller = bridge.bus.connect('caller');
    const ticked = await caller.call('core.schedules.tick', {});
    expect(ticked).to.deep.equal({ ok: true, due: [], events: 0, problems: [] });
    const { schedules, last_tick_at } = (await bridge.get('/v1/schedules')).body as ScheduleList;
    expect(schedules.map(({ name, role }) => [name, role])).to.deep.equal([['nightly', 'triage']]);
    expect(last_tick_at).not.to.equal(null);
  });

  it('reports to nobody if no dashboard is configured', async () => {
    const { status, body } = await bridge.post('/v1/sync/agent-to-dashboard', {});
    expect(status).to.equal(200);
    expect(body as SyncReply).to.deep.equal({ runs: 0, queued: 0, delivered: 0, failed: 0, dashboards: {} });
  });

  it('is well with its bus, and takes events without it', async () => {
    const well = (await bridge.get('/healthz')).body as Health;
    expect(well.status, JSON.stringify(well)).to.equal('ok');
    expect(Object.keys(well.checks)).to.deep.equal([
      'queue',
      'agentd',
      'bus',
      'worker',
      'dashboards',
      'schedules',
      'secrets',
    ]);
    bridge.bus.stop();
    expect((await bridge.post(ingress, event(6))).status).to.equal(202);
    const refused = await process();
    expect([refused.status, (refused.body as Problem).code]).to.deep.equal([503, 'bus_not_connected']);
    bridge.bus.start();
    expect(((await process()).body as ProcessReply).event).to.include({ event_id: 'e6', state: 'done' });
  });

  it('counts what it does', async () => {
    const authorization = `Bearer ${bridge.token}`;
    const text = await (await fetch(`${bridge.url}/v1/metrics`, { headers: { authorization } })).text();
    expect(text).to.match(/bridge_events_received_total\{[^}]*stored="duplicate"[^}]*\} 1\n/);
    expect(text).to.match(/bridge_events\{[^}]*state="done"[^}]*\} \d/);
    expect(text).to.match(/bridge_planning_attempts_total\{[^}]*outcome="hopeless"[^}]*\} 1\n/);
  });

  it('describes itself', async () => {
    const { body } = await bridge.get('/v1/openapi.json');
    const paths = Object.keys((body as { paths: object }).paths);
    expect(paths).to.include.members([
      ...['/v1/ingress/dashboard-issue', '/v1/ingress/github', '/v1/ingress/gitea', '/v1/events'],
      ...[
        '/v1/events/pending',
        '/v1/events/process-next',
        '/v1/events/{event_id}',
        '/v1/events/{event_id}/retry',
      ],
      ...['/v1/agents/map', '/v1/sync/agent-to-dashboard', '/v1/schedules'],
    ]);
  });
});

describe('core-bridge where it processes by itself', () => {
  it('has every event planned once, also 1,000 at the same time', async () => {
    const config = { processing: { automatic: true, concurrency: 8 } };
    const bridge = await startBridge({ config });
    try {
      const same = Array.from({ length: 1_000 }, () => bridge.post(ingress, event(1)));
      const others = Array.from({ length: 20 }, (_, index) => bridge.post(ingress, event(index + 2)));
      const answers = await Promise.all([...same, ...others]);
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([202]));
      for (;;) {
        const { events } = (await bridge.get('/v1/events?state=done&limit=100')).body as EventList;
        if (events.length === 21) break;
      }
      expect(bridge.planning.calls).to.have.length(21);
      expect(bridge.planning.runs.size).to.equal(21);
    } finally {
      await bridge.close();
    }
  });
});
