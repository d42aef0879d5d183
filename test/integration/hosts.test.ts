import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { environment } from '#kit/environment.ts';
import { actionKinds } from '../../services/agentd/action.ts';
import type { Services } from '../../services/agentd/cli/services.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { type Note, problemsOf, type Recorded } from '../fixtures/history/history.ts';
import { recordHistory } from '../fixtures/history/record.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { copyFolder, temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
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
const rounds = 3 * Number(environment.CORE_TEST_ROUNDS ?? 1);
/** Milliseconds from the beginning of an execution to its fault, more with each round. */
const stepMs = 300;
/** The clocks of hosts that fail are so wrong, in turn. */
const skewsMs = [0, 300_000, -300_000];

/** Milliseconds after the other host began to go on, at which a paused one wakes: around the moment in which a lease changes hands. */
const wakesMs = [0, 3, 5, 7, 10, 14];

/** Where a host stands still: before it asks whether the lease is still its own, and at the worst moment, right after. */
const pausedAt = ['deliver', 'push', 'openPullRequest', 'comment'].flatMap((name) => [
  `effect.permitted.${name}`,
  `effect.leaving.${name}`,
]);

describeWith(['git', 'postgres', 'time'], 'hosts of one database', function () {
  this.timeout(300_000 * rounds);

  let server: PostgresServer;
  let world: World;
  let other: Services;
  let way: Awaited<ReturnType<typeof breakableWay>>;
  /** Of the host that faults happen to. */
  let home: string;
  let history: string;
  let endHistory: () => void;
  const children: ReturnType<typeof started>['child'][] = [];

  before(async () => {
    server = await startPostgres(['log_min_messages=fatal']);
    const settings = await server.database();
    history = join(temporaryFolder(), 'history.jsonl');
    writeFileSync(history, '');
    endHistory = recordHistory(history);
    world = await makeWorld({ vcs: 'git', storage: settings });
    allowUnsandboxed(world);
    other = await secondHost(world);
    way = await breakableWay(settings);
    home = anotherHome(world, { ...settings, url: way.url, statement_seconds: 1 });
  });

  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await other.close();
    await world.close();
    await way.close();
    await server.stop();
    endHistory();
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
        const execution = executing(run_id, home, round);
        await begun(run_id, execution);
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
      await expectOneOrder();
    });
  }

  it('do nothing twice when one of them is paused past its lease and wakes after the other one has gone on', async () => {
    const places = [...pausedAt, ...Array.from({ length: rounds }, (_, round) => round * stepMs)];
    const paused = await pausedPastLease(places);
    for (const { place, planned, child, ended } of paused) {
      const { run_id } = planned;
      await goOn(run_id);
      child.kill('SIGCONT');
      const said = await ended;
      const run = await other.agent.run(run_id);
      await expectOnce(planned, run).catch((error) => {
        throw new Error(`paused at ${place}, it said ${said.stdout}${said.stderr}`, { cause: error });
      });
      if (typeof place === 'string') expect(said.code, `${place}: ${said.stdout}`).to.equal(3);
    }
    await expectOneOrder();
  });

  it('do nothing twice and leave nothing undone when a paused one wakes while the other one goes on', async () => {
    const places = Array.from({ length: rounds }, () => [
      'effect.permitted.deliver',
      'effect.permitted.push',
    ]);
    const paused = await pausedPastLease(places.flat());
    for (const [round, { place, planned, child, ended }] of paused.entries()) {
      const waking = new Promise((resolve) => setTimeout(resolve, wakesMs[round % wakesMs.length])).then(() =>
        child.kill('SIGCONT'),
      );
      await Promise.all([goOn(planned.run_id), waking]);
      const said = await ended;
      await expectOnce(planned, await other.agent.run(planned.run_id)).catch((error) => {
        throw new Error(`paused at ${place}, it said ${said.stdout}${said.stderr}`, { cause: error });
      });
    }
    await expectOneOrder();
  });

  /** Hosts that executed up to there and were stopped, each with a run of its own; nobody has a lease any more. */
  async function pausedPastLease(places: readonly (string | number)[]) {
    const paused = [];
    for (const [round, place] of places.entries()) {
      const planned = await world.plannedAndApproved();
      const { run_id } = planned;
      // The first one makes the token that all hosts show.
      const first = !existsSync(join(home, 'config/tokens/root.token'));
      const own = first ? home : join(temporaryFolder(), 'home');
      if (!first) copyFolder(join(home, 'config'), join(own, 'config'));
      const execution = executing(run_id, own, round, typeof place === 'string' ? place : undefined);
      const { child } = execution;
      if (typeof place === 'number') {
        await begun(run_id, execution);
        await new Promise((resolve) => setTimeout(resolve, place));
        child.kill('SIGSTOP');
      }
      await until(`a pause at ${place}`, async () => {
        if (child.exitCode === null) return isStopped(child.pid!);
        if (typeof place === 'number') return true;
        throw new Error(`it did not pause: ${(await execution.ended).stderr}`);
      });
      paused.push({ place, planned, ...execution });
    }
    await until('the end of their leases', () => allExpired());
    return paused;
  }

  /** A host of its own, with a clock of its own, begins to execute a run. */
  function executing(run_id: string, at: string, round: number, pause?: string): ReturnType<typeof started> {
    const loaded = (file: string) =>
      `--import=${new URL(`../fixtures/history/${file}`, import.meta.url).href}`;
    const options = [
      loaded(`record.ts?to=${history}`),
      loaded(`skew.ts?ms=${skewsMs[round % skewsMs.length]}`),
    ];
    const args = ['execute-approved', '--repo-dir', world.checkout.dir, '--run-id', run_id, '--home', at];
    const execution = started(core, args, {
      NODE_OPTIONS: options.join(' '),
      ...(pause === undefined ? {} : { CORE_CRASH_AT: `${pause}:1:SIGSTOP` }),
    });
    children.push(execution.child);
    return execution;
  }

  async function begun(run_id: string, { child, ended }: ReturnType<typeof started>): Promise<void> {
    await until('the execution', async () => {
      if (child.exitCode !== null) throw new Error(`it did not begin: ${(await ended).stderr}`);
      return (await other.agent.run(run_id)).status !== 'awaiting_approval';
    });
  }

  async function allExpired(): Promise<boolean> {
    const text = 'SELECT 1 FROM leases WHERE expires_at > core_clock_ms()';
    return (await server.ask(way.settings, text)).length === 0;
  }

  async function expectOneOrder(): Promise<void> {
    const notes = readFileSync(history, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Note);
    const record = await server.ask<Recorded>(
      way.settings,
      'SELECT run_id, seq::int, prev, hash FROM run_events',
    );
    expect(record.length).to.be.greaterThan(0);
    expect(problemsOf(notes, record)).to.deep.equal([]);
  }

  /** As if nobody had renewed a lease for its time. */
  async function expire(): Promise<void> {
    await ask('UPDATE leases SET expires_at = core_clock_ms() - 1000');
  }

  async function ask(text: string): Promise<void> {
    await server.ask(way.settings, text);
  }

  /** The other host executes what is left, as soon as it can. */
  async function goOn(run_id: string): Promise<void> {
    const lately: unknown[] = [];
    let status = '';
    await until(
      () => `run ${run_id} is ${status}, ${String(lately.at(-1))}`,
      async () => {
        try {
          const run = await other.agent.run(run_id);
          status = run.status;
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

function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

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
