import { expect } from 'chai';
import type { Bus } from '#kit/bus/bus.ts';
import { connectBus } from '#kit/bus/websocket-bus.ts';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import { decode } from '#kit/decode.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { silentLogger } from '#kit/log.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import type { BridgeStorage } from '../../services/bridge/bridge-storage.ts';
import { Processing } from '../../services/bridge/processing/processing.ts';
import { EventQueue } from '../../services/bridge/queue/event-queue.ts';
import { Schedules, tickFunction } from '../../services/bridge/schedules/schedules.ts';
import { readRoleMap } from '../../services/bridge/targets/role-map.ts';
import { platformFunctions } from '../../services/bus-worker/functions.ts';
import { Planning } from '../../services/bus-worker/planning.ts';
import { queueConfig } from '../fixtures/bridge/queue-config.ts';
import { storageIn } from '../fixtures/bridge/storage-place.ts';
import { ToyDaemon } from '../fixtures/bridge/toy-daemon.ts';
import { type EngineProcess, startEngine } from '../fixtures/bus/engine-process.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { greetPatch, makeWorld, ref, type World } from '../fixtures/world/world.ts';

const task = `Greet strangers\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
const minute = 60_000;

describe('A task over the bus', () => {
  let world: World;
  let daemon: TestDaemon;
  let engine: EngineProcess;
  let agentd: HttpClient;
  let buses: Bus[];
  let worker: Bus;
  let bridge: Bus;
  let storage: BridgeStorage;
  let now: number;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    daemon = await startDaemon(world);
    engine = await startEngine(world.home);
    agentd = createHttpClient({ baseUrl: daemon.url, token: daemon.token });
    const folders = resolveFolders({ home: world.home }, {} as never);
    const connected = (name: 'worker' | 'bridge') =>
      connectBus({ url: engine.url, token: serviceToken(folders, name), name, logger: silentLogger });
    worker = connected('worker');
    bridge = connected('bridge');
    buses = [worker, bridge];
    const services = { agentd, context: agentd, bridge: agentd, answerMs: 10_000 };
    worker.register(platformFunctions(services, new Planning({ agentd, withinMs: () => minute })));
    await Promise.all(buses.map((bus) => bus.whenConnected(10_000)));
    storage = storageIn(temporaryFolder(), { now: () => now });
  });

  after(async () => {
    await storage?.close();
    await Promise.all((buses ?? []).map((bus) => bus.close()));
    await agentd?.close();
    await engine?.kill();
    await daemon?.close();
    await world?.close();
  });

  async function planned(request: object): Promise<PlanIssueResult> {
    const answer = await bridge.call(functionIds.planIssue, request, { timeoutMs: minute });
    return decode(PlanIssueResult, answer, 'the result');
  }

  async function tasksPlanned(): Promise<string[]> {
    const { runs } = await world.agent.runs({ ...ref, limit: 100 });
    return runs.flatMap(({ run_id, number }) => (number === null ? [run_id] : []));
  }

  it('is planned once for its event, and counts as written by an outsider', async () => {
    const request = { event_id: 'script-1', ...ref, task };
    const first = await planned(request);
    expect(first).to.include({ ok: true, status: 'awaiting_approval', created: true });
    expect(await planned(request)).to.deep.equal({ ...first, created: false });
    const run = await world.agent.run((first as { run_id: string }).run_id);
    expect(run.request.number).to.equal(null);
    expect(run.request.trigger).to.include({ kind: 'bus', event_id: 'script-1' });
    expect(run.issue).to.include({ title: 'Greet strangers', association: 'none' });
    expect(run.actions.map(({ definition }) => definition.kind)).not.to.include('comment_issue');
  });

  it('is refused beside an issue, without one, and under the event of another task', async () => {
    const codeOf = async (request: object) => {
      const result = await planned({ event_id: 'script-2', ...ref, ...request });
      return result.ok ? null : result.error.code;
    };
    expect(await codeOf({})).to.equal('issue_or_task');
    expect(await codeOf({ number: 1, task })).to.equal('issue_or_task');
    expect(await codeOf({ task: ' ' })).to.equal('invalid_request');
    expect(await codeOf({ event_id: 'script-1', task: `${task}more` })).to.equal('idempotency_key_reused');
  });

  it('of a schedule is started by the tick once for its time, however often the bus calls', async () => {
    const before = await tasksPlanned();
    now = Date.parse('2026-05-04T08:00:00Z');
    const queue = new EventQueue(storage, queueConfig);
    const config = { automatic: false, concurrency: 1 };
    const rights = { github: { by: 'write' }, gitea: { by: 'write' } } as const;
    const parts = { queue, rights, bus: bridge, config, callMs: () => minute, logger: silentLogger };
    const processing = new Processing({ ...parts, ended: () => {}, lookMs: minute });
    const nightly = { name: 'nightly', cron: '30 9 * * *', zone: 'UTC', enabled: true, forge: null, ...ref };
    const schedules = new Schedules({
      schedules: [{ ...nightly, label: null, state: 'open', limit: 10, role: null, task }],
      rows: storage.schedules,
      daemon: new ToyDaemon(),
      queue,
      roles: readRoleMap({ config: temporaryFolder() }),
      logger: silentLogger,
      made: () => {},
    });
    await schedules.begin();
    bridge.register([tickFunction(schedules)]);
    const tickAt = async (time: string) => {
      now = Date.parse(time);
      const { events } = (await worker.call('core.schedules.tick', {})) as { events: number };
      const taken = await processing.take();
      return { events, ended: (await taken?.ended) ?? null };
    };
    expect(await tickAt('2026-05-04T09:29:00Z')).to.deep.equal({ events: 0, ended: null });
    const { events, ended } = await tickAt('2026-05-04T09:30:00Z');
    expect(events).to.equal(1);
    expect(ended).to.include({
      state: 'done',
      event_id: 'schedule:nightly:demo/hello:2026-05-04T09:30:00.000Z',
    });
    expect(await tickAt('2026-05-04T09:30:30Z')).to.deep.equal({ events: 0, ended: null });
    expect(await tickAt('2026-05-04T09:31:00Z')).to.deep.equal({ events: 0, ended: null });
    const made = (await tasksPlanned()).filter((run) => !before.includes(run));
    expect(made).to.deep.equal([ended!.run_id]);
    const run = await world.agent.run(made[0]!);
    expect(run.request.trigger).to.include({ kind: 'schedule', actor: 'schedule nightly' });
    expect((await tickAt('2026-05-05T09:30:00Z')).ended).to.include({ state: 'done' });
    expect(await tasksPlanned()).to.have.length(before.length + 2);
  });
});
