import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Bus } from '#kit/bus/bus.ts';
import { connectBus } from '#kit/bus/websocket-bus.ts';
import { runningService } from '#kit/config/running-service.ts';
import type { EventView, ProcessReply } from '#kit/contracts/bridge/events.ts';
import { silentLogger } from '#kit/log.ts';
import { ensureTokens, ownToken, serviceToken } from '#kit/tokens/tokens.ts';
import { toyPlanning } from '../fixtures/bridge/toy-planning.ts';
import { type EngineProcess, startEngine } from '../fixtures/bus/engine-process.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';

const program = fileURLToPath(new URL('../../services/bridge/main.ts', import.meta.url));
const secret = 's'.repeat(40);

describe('core-bridge beside core-bus-engine', () => {
  const home = temporaryFolder();
  const planning = toyPlanning();
  let engine: EngineProcess;
  let worker: Bus;
  let bridge: ChildProcess;
  let url: string;
  let token: string;

  function run(...args: string[]): ChildProcess {
    return spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, '--home', home, ...args],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
  }

  async function output(...args: string[]): Promise<{ code: number; said: string }> {
    const child = run(...args);
    const [out, err, [code]] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      once(child, 'exit'),
    ]);
    return { code: code as number, said: out + err };
  }

  async function bridgeAnswers(): Promise<string> {
    const { url } = await until('the bridge', () => {
      expect(bridge.exitCode).to.equal(null);
      return runningService('core-bridge', { state: join(home, 'state') });
    });
    return url;
  }

  before(async () => {
    const tokens = { tokens: join(home, 'config/tokens') };
    ensureTokens(tokens);
    mkdirSync(join(home, 'config/secrets'), { recursive: true });
    writeFileSync(join(home, 'config/secrets/dashboard-webhook'), secret);
    token = ownToken(tokens).text;
    engine = await startEngine(home);
    const own = { url: engine.url, token: serviceToken(tokens, 'worker'), name: 'toy worker' };
    worker = connectBus({ ...own, logger: silentLogger, timing: { firstWaitMs: 5, maxWaitMs: 50 } });
    worker.register([planning.offered]);
    bridge = run('serve', '--port', '0');
    bridge.stdout!.resume();
    bridge.stderr!.resume();
    url = await bridgeAnswers();
    await until('the bridge to be well', async () => {
      const health = (await (await fetch(`${url}/healthz`)).json()) as { status: string };
      return health.status === 'ok';
    });
  });
  after(async () => {
    await worker?.close();
    await engine?.kill();
    if (bridge?.exitCode === null) {
      const ended = once(bridge, 'exit');
      bridge.kill('SIGTERM');
      await ended;
    }
  });

  async function send(event_id: string): Promise<number> {
    const forge = { owner: 'demo', repo: 'hello', number: 1, name: 'local' };
    const issue = { id: '1', title: 'A \u001b[31mtitle', status: 'Ready', forge };
    const body = JSON.stringify({
      ...{ event_id, kind: 'issue.status_changed', occurred_at: new Date().toISOString(), issue },
    });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const hmac = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
    const answer = await fetch(`${url}/v1/ingress/dashboard-issue`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-core-timestamp': timestamp,
        'x-core-signature': `sha256=${hmac}`,
      },
      body,
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  it('has a signed event planned by the worker on the bus', async () => {
    expect(await send('first')).to.equal(202);
    const { code, said } = await output('process-next', '--json');
    expect(code, said).to.equal(0);
    expect((JSON.parse(said) as ProcessReply).event).to.include({ state: 'done', run_id: 'run_1' });
    const shown = await output('show', 'first');
    expect(shown.said).to.contain('run_1').and.contain('\\x1b[31m').and.not.contain('\u001b[31m');
  });

  it('has it planned once where the engine is killed while it is planned, and started again', async () => {
    expect(await send('second')).to.equal(202);
    const { promise: called, resolve: tellCalled } = Promise.withResolvers<void>();
    const { promise: restarted, resolve: tellRestarted } = Promise.withResolvers<void>();
    planning.answer = async () => {
      tellCalled();
      await restarted;
      return undefined;
    };
    const reply = fetch(`${url}/v1/events/process-next`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    });
    await called;
    await engine.kill();
    planning.answer = null;
    engine = await startEngine(home, engine.port);
    tellRestarted();
    const { event } = (await (await reply).json()) as ProcessReply;
    expect(event).to.include({ event_id: 'second', state: 'done', run_id: 'run_2', attempts: 0 });
    expect(planning.runs.size).to.equal(2);
  });

  it('keeps a second one away from its queue, and ends in order', async () => {
    const { code, said } = await output('serve', '--port', '0');
    expect(code).to.equal(3);
    expect(said).to.contain('[queue_held]').and.contain(`process ${bridge.pid} on `);
    const ended = once(bridge, 'exit');
    bridge.kill('SIGTERM');
    expect(await ended).to.deep.equal([0, null]);
    const asked = await output('events');
    expect(asked.code).to.equal(5);
  });

  it('is where it was after a new start', async () => {
    bridge = run('serve', '--port', '0');
    bridge.stdout!.resume();
    bridge.stderr!.resume();
    await bridgeAnswers();
    const { said } = await output('show', 'second', '--json');
    expect(JSON.parse(said) as EventView).to.include({ state: 'done', run_id: 'run_2' });
  });
});
