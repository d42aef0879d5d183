import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { actionKinds } from '../../services/agentd/action.ts';
import type { Services } from '../../services/agentd/cli/services.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { until } from '../fixtures/until.ts';
import { core, started } from '../fixtures/world/core-command.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import {
  anotherHome,
  everybody,
  makeWorld,
  quiet,
  ref,
  secondHost,
  type World,
} from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

/** Rounds for each fault; the moment of the fault is another in each. */
const rounds = 3;
/** Milliseconds from the beginning of an execution to its fault, more with each round. */
const stepMs = 300;

describeWith(['git', 'postgres', 'time'], 'hosts of one database', () => {
  let server: PostgresServer;
  let world: World;
  let other: Services;
  let way: Awaited<ReturnType<typeof breakableWay>>;
  /** Of the host that faults happen to. */
  let home: string;

  before(async () => {
    server = await startPostgres(['log_min_messages=fatal']);
    const settings = await server.database();
    world = await makeWorld({ vcs: 'git', storage: settings });
    allowUnsandboxed(world);
    other = await secondHost(world);
    way = await breakableWay(settings);
    home = anotherHome(world, { ...settings, url: way.url, statement_seconds: 1 });
  });

  after(async () => {
    await other.close();
    await world.close();
    await way.close();
    await server.stop();
  });

  /** What happens to the host that executes, and what ends it; the other host goes on between the two. */
  const faults: Record<string, (child: ReturnType<typeof started>) => Promise<() => Promise<void>>> = {
    'is killed': async ({ child }) => {
      child.kill('SIGKILL');
      return async () => {};
    },
    'is cut off from the database and comes back': async () => {
      way.cut();
      await expire();
      return async () => way.heal();
    },
    'loses its connections': async () => {
      await ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'core-agentd'",
      );
      return async () => {};
    },
    'loses the database for a moment': async () => {
      await server.crash();
      await server.restart();
      return async () => {};
    },
  };

  for (const [what, fault] of Object.entries(faults)) {
    it(`do nothing twice when one of them ${what} while it executes`, async () => {
      let caught = 0;
      for (let round = 0; round < rounds; round++) {
        const planned = await world.plannedAndApproved();
        const { run_id } = planned;
        const execution = started(core, [
          'execute-approved',
          '--repo-dir',
          world.checkout.dir,
          '--run-id',
          run_id,
          '--home',
          home,
        ]);
        await until(
          'the execution',
          async () => (await other.agent.run(run_id)).status !== 'awaiting_approval',
        );
        await new Promise((resolve) => setTimeout(resolve, round * stepMs));
        const heal = await fault(execution);
        const { status } = await until('the database', () => other.agent.run(run_id).catch(() => null));
        if (status === 'executing' || status === 'interrupted') caught++;
        await goOn(run_id);
        await heal();
        await execution.ended;
        await expectOnce(planned, await other.agent.run(run_id));
      }
      expect(caught, 'rounds in which the fault met the execution').to.be.greaterThan(0);
    });
  }

  /** As if nobody had renewed a lease for its time. */
  async function expire(): Promise<void> {
    await ask("UPDATE leases SET expires_at = clock_timestamp() - interval '1 s'");
  }

  async function ask(text: string): Promise<void> {
    await server.ask(way.settings, text);
  }

  /** The other host executes what is left, as soon as it can. */
  async function goOn(run_id: string): Promise<void> {
    const lately: unknown[] = [];
    await until(
      () => `run ${run_id}, ${String(lately.at(-1))}`,
      async () => {
        try {
          const run = await other.agent.run(run_id);
          if (run.status === 'completed') return true;
          if (run.status === 'interrupted') await other.agent.resume({ run_id, by: everybody }, quiet);
          else if (run.status === 'awaiting_approval')
            await other.agent.execute(
              { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
              quiet,
            );
        } catch (error) {
          lately.push(error);
        }
        return false;
      },
    );
  }

  async function expectOnce(planned: Run, run: Run): Promise<void> {
    expect(run.status).to.equal('completed');
    expect(run.actions.map(({ state, definition }) => `${definition.kind} ${state}`)).to.deep.equal(
      actionKinds.map((kind) => `${kind} succeeded`),
    );
    expect(run.actions.map(({ decision }) => decision)).to.deep.equal(
      planned.actions.map(({ decision }) => decision),
    );
    const { branch, tree } = run.plan!.target;
    const name = `refs/heads/${branch}`;
    expect(world.remote.git('rev-parse', `${name}^{tree}`)).to.equal(tree);
    const pushes = readFileSync(join(world.remote.gitDir, 'logs', name), 'utf8')
      .trim()
      .split('\n');
    expect(pushes, 'pushes').to.have.length(1);
    const pulls = (await world.forgeAdmin.listPullRequests(ref, 'all')).filter(({ head }) => head === branch);
    expect(pulls, 'pull requests').to.have.length(1);
    const comments = readdirSync(join(world.remote.gitDir, '../comments', String(run.request.number)));
    expect(
      comments.filter((file) => file.endsWith('.json')),
      'comments',
    ).to.have.length(1);
    expect((await other.agent.verify(run.run_id)).problems).to.deep.equal([]);
  }
});

/** A way to the database that can be cut: what is sent then never arrives, and nobody learns of it. */
async function breakableWay(settings: PostgresSettings) {
  const to = new URL(settings.url);
  const sockets = new Set<Socket>();
  let cut = false;
  const proxy = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    for (const [one, another] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('data', (data) => cut || another.write(data));
      one.on('error', () => another.destroy());
      one.on('close', () => {
        sockets.delete(one);
        another.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const own = new URL(settings.url);
  own.port = String((proxy.address() as { port: number }).port);
  return {
    url: own.href,
    settings,
    cut() {
      cut = true;
    },
    heal() {
      cut = false;
      for (const socket of sockets) socket.destroy();
    },
    close: () => new Promise((resolve) => proxy.close(resolve)),
  };
}
