import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Bus } from '#kit/bus/bus.ts';
import { callWithRetry } from '#kit/bus/call-with-retry.ts';
import { connectBus } from '#kit/bus/websocket-bus.ts';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import { decode } from '#kit/decode.ts';
import { silentLogger } from '#kit/log.ts';
import { type SmallEngine, startSmallEngine } from '../fixtures/bus/small-engine.ts';
import { started } from '../fixtures/world/core-command.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { greetPatch, makeWorld, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';
import { freePort } from '../support/free-port.ts';

const services = fileURLToPath(new URL('../../services/', import.meta.url));
const timing = { firstWaitMs: 10, maxWaitMs: 100 };

type Started = ReturnType<typeof started>;

/** Whatever is killed whenever: the event has one run, and who asks again gets it. */
describeWith(['time'], 'planning over the bus through kills', () => {
  let world: World;
  let engine: SmallEngine;
  let caller: Bus;
  let running: Started[];

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    engine = await startSmallEngine();
    caller = connectBus({ url: engine.url, token: null, name: 'caller', logger: silentLogger, timing });
  });

  beforeEach(() => {
    running = [];
  });

  afterEach(async () => {
    for (const { child, ended } of running) {
      child.kill('SIGKILL');
      await ended;
    }
  });

  after(async () => {
    await caller?.close();
    await engine?.close();
    await world?.close();
  });

  function start(service: string, env: Readonly<Record<string, string>>): Started {
    const args = ['--disable-warning=ExperimentalWarning', join(services, service, 'main.ts'), 'serve'];
    const process_ = started(process.execPath, [...args, '--home', world.home], env);
    running.push(process_);
    return process_;
  }

  function plan(number: number): Promise<PlanIssueResult> {
    const request = {
      event_id: `event of ${number}`,
      ...ref,
      number,
      later: 'unknown members are tolerated',
    };
    const call = callWithRetry(caller, functionIds.planIssue, request, {
      withinMs: 150_000,
      missingMs: 150_000,
      maxWaitMs: 200,
    });
    return call.then((result) => decode(PlanIssueResult, result, 'the result'));
  }

  async function checkOneRun(number: number, result: PlanIssueResult): Promise<void> {
    expect(result).to.deep.include({ ok: true, status: 'awaiting_approval' });
    const { runs } = await world.agent.runs({ ...ref, number, limit: 10 });
    expect(runs.map(({ run_id }) => run_id)).to.deep.equal([result.run_id]);
    expect(await plan(number)).to.deep.equal({ ...result, created: false });
  }

  describe('of the worker', () => {
    let daemon: TestDaemon;

    before(async () => {
      daemon = await startDaemon(world);
    });

    after(() => daemon?.close());

    for (const point of ['worker.before_request', 'worker.requested', 'worker.waiting', 'worker.planned']) {
      it(`goes on after a kill at ${point}`, async () => {
        const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
        const env = { CORE_BUS_URL: engine.url, CORE_AGENTD_URL: daemon.url };
        const first = start('bus-worker', { ...env, CORE_CRASH_AT: point });
        const result = plan(number);
        expect(await first.ended).to.include({ signal: 'SIGKILL' });
        start('bus-worker', env);
        await checkOneRun(number, await result);
      });
    }
  });

  describe('of the daemon', () => {
    for (const point of ['run_committed', 'plan.before_seal']) {
      it(`goes on after a kill at ${point}`, async () => {
        const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
        const env = { CORE_BUS_URL: engine.url, CORE_AGENTD_PORT: String(await freePort()) };
        const first = start('agentd', { ...env, CORE_CRASH_AT: point });
        start('bus-worker', env);
        const result = plan(number);
        expect(await first.ended).to.include({ signal: 'SIGKILL' });
        start('agentd', env);
        await checkOneRun(number, await result);
      });
    }
  });
});
