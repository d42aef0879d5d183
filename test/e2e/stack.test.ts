import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { platformServices } from '#kit/contracts/platform-services.ts';
import type { StatusReport } from '#kit/contracts/status.ts';
import { StatusReport as StatusCodec } from '#kit/contracts/status.ts';
import { decode } from '#kit/decode.ts';
import { movedIssue } from '../fixtures/bridge/moved-issue.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { makePlace, type Place } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

describeWith(['linux'], 'the whole stack', () => {
  let place: Place;
  let stack: Stack;
  let token: string;

  before(async () => {
    place = makePlace();
    // Long enough for a busy machine; what is halted is waited for.
    writeFileSync(join(place.home, 'config/core.json'), '{"answers": {"seconds": 3}}');
    stack = startStack(place.home);
    await stack.ready();
    const tokens = join(place.home, 'config/tokens');
    const own = readdirSync(tokens).find(
      (name) => !/^(bridge|worker|agentd)\./.test(name) && /\.token$/.test(name),
    );
    token = readFileSync(join(tokens, own!), 'utf8').trim();
  });
  after(async () => {
    if (stack?.child.exitCode === null) await stack.end();
    place?.remove();
  });

  /** Exit code and report; a busy machine may be too slow for the time limit once. */
  async function status(
    ...flags: readonly string[]
  ): Promise<{ code: number; report: StatusReport; last: string }> {
    const { exitCode, stdout, stderr } = await place.core('status', ...flags);
    const last = stdout.trim().split('\n').at(-1)!;
    const [json = ''] = stdout.split(/^SMOKE /m);
    if (json === '') throw new Error(`no report: ${stderr}`);
    return { code: exitCode, report: decode(StatusCodec, JSON.parse(json), 'report'), last };
  }

  async function becomes(wanted: (report: StatusReport) => boolean): Promise<StatusReport> {
    let last: StatusReport | null = null;
    const failed = () => `${wanted}\n${JSON.stringify(last, null, 1)}\n${stack.said()}`;
    return until(failed, async () => {
      last = (await status()).report;
      return wanted(last) && last;
    });
  }

  const words = (report: StatusReport) =>
    report.problems.map(({ part, detail }) => `${part}: ${detail}`).join('\n');

  it('prints where each service answers', () => {
    for (const name of platformServices)
      expect(stack.said()).to.match(new RegExp(`^${name} .*(ok|degraded|connected)`, 'm'));
    expect(Object.keys(stack.note().services)).to.deep.equal([...platformServices]);
  });

  it('is in the way of another at every port that it has', async () => {
    const socket = /^core-bus-engine +ws:\/\/127\.0\.0\.1:(\d+)/m.exec(stack.said())![1]!;
    const ports = [socket, new URL(stack.url('core-bus-engine')).port];
    const given = ['--only', 'core-bus-engine', '--bus-port', ports[0]!, '--bus-http-port', ports[1]!];
    const { exitCode, stderr } = await place.coreAt(join(place.folder, 'another'), 'up', ...given);
    expect(exitCode).to.equal(1);
    for (const port of ports)
      expect(stderr).to.contain(`port ${port} on 127.0.0.1, which core-bus-engine needs`);
  });

  it('is well, plans a demo issue through all of it, and writes to no repository', async () => {
    // A busy machine may answer too late for the check before it.
    const tried = await until('the smoke test to begin', async () => {
      const one = await status('--smoke', '--pretty');
      return one.report.smoke!.run_id !== null && one;
    });
    const { smoke } = tried.report;
    expect(smoke!.ok, JSON.stringify(tried.report.problems)).to.equal(true);
    expect(tried.last).to.equal(`SMOKE OK run_id=${smoke!.run_id}`);
    expect(smoke!.steps.map(({ ok }) => ok)).to.deep.equal([true, true, true, true, true, true]);
    expect(tried.report.arrows.map(({ from, to }) => `${from} to ${to}`)).to.include.members([
      'core-status to core-agentd',
      'core-status to core-context',
      'core-status to core-model-gateway',
      'core-status to core-bridge',
      'core-agentd to core-context',
      'core-agentd to core-model-gateway',
      'core-model-gateway to upstreams of its models',
      'core-bridge to core-agentd',
      'core-bridge to core-bus-engine',
      'core-bridge to core-bus-worker',
      'core-bus-worker to core-agentd',
      'core-bus-worker to core-context',
      'core-bus-worker to core-bridge',
    ]);
    const queues = tried.report.backlogs.map(({ service, queue }) => `${service} ${queue}`);
    expect(queues).to.include.members([
      'core-agentd context_outbox',
      'core-bridge queue',
      'core-context cypher',
    ]);
    expect(smoke!.repositories).to.have.length(1);
    const report = await becomes(({ ok }) => ok);
    expect(report.storage.runs_count).to.equal(1);
    expect(report.latest_runs).to.deep.equal([]);
    const run = await fetch(`${stack.url('core-agentd')}/v1/runs/${smoke!.run_id}`);
    expect(await run.json())
      .to.deep.include({ status: 'awaiting_approval' })
      .and.nested.include({ 'request.planner': 'patch' });
    expect(report.iii).to.deep.include({
      telemetry_disabled: true,
      in_memory_warning_present: false,
      config_file_active: true,
      unknown: {},
    });
    expect(report.iii.functions.missing).to.deep.equal([]);
    expect(Object.values(report.services).every(({ state }) => state === 'running')).to.equal(true);
  });

  it('makes a run of an event that somebody posts', async () => {
    const event = movedIssue({ name: 'core-smoke', owner: 'core-smoke', repo: 'demo' });
    const post = async (path: string, body: unknown) => {
      const answer = await fetch(`${stack.url('core-bridge')}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, json: (await answer.json()) as { event: { run_id: string } } };
    };
    expect((await post('/v1/ingress/dashboard-issue', event)).status).to.equal(202);
    const { run_id } = (await post('/v1/events/process-next', {})).json.event;
    const { runs } = (await (await fetch(`${stack.url('core-agentd')}/v1/runs?forge=core-smoke`)).json()) as {
      runs: unknown[];
    };
    expect(runs[0]).to.include({ run_id, status: 'awaiting_approval', owner: 'core-smoke' });
  });

  it('gives the same report over HTTP to who has a token', async () => {
    const url = `${stack.url('core-agentd')}/v1/status`;
    expect((await fetch(url)).status).to.equal(401);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).to.equal(200);
    const report = decode(StatusCodec, await answer.json(), 'report');
    expect(Object.keys(report.services)).to.deep.equal([...platformServices]);
    expect(report.manager.detail).to.contain(`process ${stack.child.pid}`);
  });

  for (const name of platformServices) {
    it(`is red with the right words while ${name} is stopped`, async () => {
      const { pid } = stack.note().services[name]!;
      process.kill(pid!, 'SIGSTOP');
      try {
        const { code, report } = await status();
        expect(code).to.equal(1);
        expect(report.ok).to.equal(false);
        expect(report.services[name]).to.include({ state: 'stopped', ok: false, fix: `kill -CONT ${pid}` });
        expect(words(report)).to.contain(`services.${name}: process ${pid} is stopped`);
        expect(report.http[name]?.ok, words(report)).to.equal(false);
        const silent =
          name === 'core-bus-worker'
            ? /registered but does not answer in time/
            : /does not answer within|in time/;
        expect(report.http[name]?.detail).to.match(silent);
        expect(JSON.stringify([report.http[name], report.problems])).to.not.match(
          /nobody answers|does not run/,
        );
      } finally {
        process.kill(pid!, 'SIGCONT');
      }
    });
  }

  it('is well again when all go on', async () => {
    expect(await becomes(({ ok }) => ok)).to.deep.include({ problems: [] });
  });

  it('restarts what is killed, and reports it', async () => {
    const before = stack.note().services['core-bridge']!;
    process.kill(before.pid!, 'SIGKILL');
    const report = await becomes(({ ok, services }) => ok && services['core-bridge']?.restarts === 1);
    expect(report.services['core-bridge']?.detail).to.match(/started again once, last after SIGKILL$/);
    expect(report.services['core-bridge']?.pid).to.not.equal(before.pid);
  });

  it('refuses a second start and ends all at Ctrl-C', async () => {
    const second = startStack(place.home);
    const refused = await second.ready().then(
      () => 'it started',
      (error: Error) => error.message,
    );
    expect(refused).to.contain(`is held by process ${stack.child.pid} on`);
    const pids = Object.values(stack.note().services).map(({ pid }) => pid!);
    const { code } = await stack.end();
    expect(code).to.equal(130);
    for (const pid of pids) expect(() => process.kill(pid, 0), String(pid)).to.throw('ESRCH');
    const { code: red, report } = await status();
    expect(red).to.equal(1);
    const fix = `Start it: ./core up --home ${place.home}`;
    expect(report.services['core-agentd']).to.include({ state: 'missing', fix });
  });
});
