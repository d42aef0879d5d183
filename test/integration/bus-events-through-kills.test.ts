import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { runningService } from '#kit/config/running-service.ts';
import { ownToken } from '#kit/tokens/tokens.ts';
import { type EngineProcess, startEngine } from '../fixtures/bus/engine-process.ts';
import { startIii } from '../fixtures/containers/iii.ts';
import { until } from '../fixtures/until.ts';
import { started } from '../fixtures/world/core-command.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { greetPatch, makeWorld, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const services = fileURLToPath(new URL('../../services/', import.meta.url));

/** An engine that can be killed, and started again where its clients know it. */
interface KillableEngine {
  /** Where the services find it. */
  readonly environment: Readonly<Record<string, string>>;
  kill(): Promise<void>;
  start(): Promise<void>;
  end(): Promise<void>;
}

interface EventRow {
  readonly event_id: string;
  readonly state: string;
  readonly run_id: string | null;
  readonly reason: string | null;
}

/** Events of a dashboard become runs of their issues, one each, whichever part of the bus is killed meanwhile. */
function plansEachEventOnce(open: (home: string) => Promise<KillableEngine>): void {
  let world: World;
  let daemon: TestDaemon;
  let engine: KillableEngine;
  let worker: ReturnType<typeof started>;
  let bridge: ReturnType<typeof started>;
  let bridgeUrl: string;
  let token: string;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    const processing = { automatic: true, concurrency: 3, first_retry_seconds: 1, most_retry_seconds: 2 };
    writeFileSync(
      join(world.home, 'config/bridge.json'),
      JSON.stringify({ processing: { ...processing, attempts: 100 } }),
    );
    token = ownToken({ tokens: join(world.home, 'config/tokens') }).text;
    daemon = await startDaemon(world);
    engine = await open(world.home);
    worker = start('bus-worker');
    bridge = start('bridge', '--port', '0');
    const found = () => runningService('core-bridge', { state: join(world.home, 'state') });
    bridgeUrl = (await until('the bridge', found)).url;
  });

  after(async () => {
    for (const service of [bridge, worker]) {
      service?.child.kill('SIGKILL');
      await service?.ended;
    }
    await engine?.end();
    await daemon?.close();
    await world?.close();
  });

  function start(service: string, ...more: readonly string[]): ReturnType<typeof started> {
    const main = join(services, service, 'main.ts');
    const args = ['--disable-warning=ExperimentalWarning', main, 'serve', '--home', world.home, ...more];
    return started(process.execPath, args, { ...engine.environment, CORE_AGENTD_URL: daemon.url });
  }

  async function ask(path: string, body?: unknown): Promise<{ status: number; json: never }> {
    const answer = await fetch(`${bridgeUrl}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: (await answer.json()) as never };
  }

  async function post(event_id: string): Promise<void> {
    const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`, event_id);
    const forge = { ...ref, name: 'local', number };
    const issue = { id: event_id, title: event_id, status: 'ready', forge };
    const occurred_at = new Date().toISOString();
    const { status, json } = await ask('/v1/ingress/dashboard-issue', {
      event_id,
      kind: 'issue.status_changed',
      occurred_at,
      issue,
    });
    expect(status, JSON.stringify(json)).to.equal(202);
  }

  async function events(): Promise<readonly EventRow[]> {
    return ((await ask('/v1/events?limit=100')).json as { events: EventRow[] }).events;
  }

  async function done(count: number): Promise<void> {
    let rows: readonly EventRow[] = [];
    await until(
      () => `${count} events to be done: ${JSON.stringify(rows)}`,
      async () => {
        rows = await events();
        return rows.filter(({ state }) => state === 'done').length >= count;
      },
    );
  }

  /** @param killAt how many of all events are done when it kills */
  async function postAndKill(ids: readonly string[], killAt: readonly number[], kill: () => Promise<void>) {
    for (const id of ids) await post(id);
    for (const count of killAt) {
      await done(count);
      await kill();
    }
  }

  const ids = (what: string, count: number) =>
    Array.from({ length: count }, (_, nth) => `${what}-${String(nth + 1).padStart(2, '0')}`);

  async function eachHasOneRun(posted: readonly string[]): Promise<void> {
    await done(posted.length);
    const rows = await events();
    expect(rows.map(({ event_id }) => event_id)).to.have.members(posted);
    const { runs } = await world.agent.runs({ ...ref, limit: 100 });
    expect(runs.map(({ run_id }) => run_id)).to.have.members(rows.map(({ run_id }) => run_id));
    expect(new Set(runs.map(({ number }) => number)).size).to.equal(posted.length);
    for (const { status } of runs) expect(status).to.equal('awaiting_approval');
  }

  it('15 events through three kills of the engine, and 20 through three of the worker', async () => {
    const [first, second] = [ids('engine', 15), ids('worker', 20)];
    await postAndKill(first, [2, 6, 10], async () => {
      await engine.kill();
      await engine.start();
    });
    await eachHasOneRun(first);
    await postAndKill(second, [17, 22, 27], async () => {
      worker.child.kill('SIGKILL');
      await worker.ended;
      worker = start('bus-worker');
    });
    await eachHasOneRun([...first, ...second]);
  });
}

describeWith(['time'], 'events through kills, on core-bus-engine', () => {
  plansEachEventOnce(async (home) => {
    let engine: EngineProcess = await startEngine(home);
    const { port } = engine;
    return {
      environment: { CORE_BUS_HOST: '127.0.0.1', CORE_BUS_PORT: String(port) },
      kill: () => engine.kill(),
      async start() {
        engine = await startEngine(home, port);
      },
      end: () => engine.kill(),
    };
  });
});

describeWith(['iii'], 'events through kills, on iii', () => {
  plansEachEventOnce(async () => {
    const { url, kill, start, remove } = await startIii();
    return { environment: { CORE_BUS_URL: url }, kill, start, end: remove };
  });
});
