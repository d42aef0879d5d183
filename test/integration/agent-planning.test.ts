import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AgentSettings } from '../../services/agentd/planning/agent-settings.ts';
import { draftOf } from '../../services/agentd/runs/run.ts';
import { isKilledHere } from '../crash-matrix/points.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from '../e2e/model-key-gateway.ts';
import type { Step } from '../fixtures/agents/scripted-agent.ts';
import { scriptedAgent } from '../fixtures/agents/scripted-settings.ts';
import { type ModelServer, type Script, startModelServer } from '../fixtures/models/model-server.ts';
import { until } from '../fixtures/until.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith, itWith } from '../needs.ts';

const better = "export function greet(name) {\n  return 'Hello ' + (name || 'stranger');\n}\n";
const solve: Step[] = [
  { tool: 'Edit src/greet.js', path: 'src/greet.js' },
  { write: 'src/greet.js', content: better },
  { say: 'Greet strangers when no name is given\n\nAn empty name is no name.' },
];
const asked: Step = { ask_model: 'How are strangers greeted?' };

describeWith(['bubblewrap'], 'planning with a coding agent in its sandbox', function () {
  this.timeout(180_000);
  let world: World;
  let upstream: ModelServer | undefined;
  let gateway: GatewayProcess | undefined;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  afterEach(async () => {
    await gateway?.stop();
    await upstream?.close();
    gateway = undefined;
    upstream = undefined;
    await world.close();
  });

  function configure(steps: readonly Step[], change: Partial<AgentSettings> = {}): void {
    // The home in its arguments distinguishes its processes from those of other tests.
    const agents = {
      scripted: scriptedAgent({ steps: [{ think: world.home }, ...steps] }, { dialect: null, ...change }),
    };
    writeFileSync(join(world.home, 'config/agents.json'), JSON.stringify({ agents }));
  }

  /** A model behind the real gateway, at these prices for a million tokens. */
  async function withModel(script: Script, price = { input: 1, output: 2, cached: 0.1 }): Promise<void> {
    upstream = await startModelServer(script);
    const entry = { kind: 'openai', base_url: upstream.url, model: 'scripted-1', credential: 'key', price };
    await configureGateway(world.home, { models: { coder: { upstreams: [entry] } } }, { key: 'sk-upstream' });
    gateway = await startGatewayProcess(world.home);
  }

  async function planned() {
    const number = await world.newIssue('Strangers are greeted wrongly.');
    return world.agent.planIssue({ ...ref, number, planner: 'scripted', by: everybody }, quiet);
  }

  function planArgs(number: number): string[] {
    return [
      'plan-issue',
      '--owner',
      ref.owner,
      '--repo',
      ref.repo,
      '--number',
      String(number),
      '--planner',
      'scripted',
    ];
  }

  /** Of the scripted agent and its sandbox. */
  function processes(): string[] {
    return execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes('scripted-agent.ts') && line.includes(world.home));
  }

  function leftovers(): string[] {
    const below = (name: string) => {
      const folder = join(world.home, 'state', name);
      return existsSync(folder) ? readdirSync(folder).map((entry) => `${name}/${entry}`) : [];
    };
    return [...below('scratch'), ...below('doors')];
  }

  it('goes from an issue to a pull request, with its model asked through the one door', async () => {
    await withModel(() => ({ text: 'As strangers.' }));
    configure([asked, ...solve, { keep_environment: 'environment.json' }], { dialect: 'chat' });
    const run = await planned();
    expect(run.request).to.include({ planner: 'agent', agent: 'scripted' });
    expect(run.plan).to.include({ title: 'Greet strangers when no name is given' });
    expect(run.agent).to.deep.include({ turns: 1, program: { name: 'Scripted agent', version: '1.2.3' } });
    expect(run.agent!.started).to.deep.include({ sandbox: 'bubblewrap', model: 'coder', protocol: 'acp' });
    expect(run.usage).to.include({ model: 'coder', input_tokens: 100, output_tokens: 20 });
    expect(run.usage!.cost).to.be.greaterThan(0);
    const patch = Buffer.from(await world.agent.diff(run.run_id)).toString('utf8');
    expect(patch).to.contain("(name || 'stranger')");
    expect(patch).not.to.contain('core_run-key_');
    expect(upstream!.requests.map(({ headers }) => headers.authorization)).to.deep.equal([
      'Bearer sk-upstream',
    ]);
    expect(leftovers()).to.deep.equal([]);

    await world.approve(run);
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    expect(done.status).to.equal('completed');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    const shown = await world.command(['show', run.run_id, '--prompt']);
    expect(shown.stdout).to.match(/--- user[\s\S]*Your role: Depute[\s\S]*s {2}tool {2}Edit src\/greet\.js/);
    expect((await world.command(['show', run.run_id])).stdout).to.contain('planner scripted');
  });

  it('proposes what fails its validation all the same, and publishes none of it', async () => {
    configure([{ write: 'src/greet.js', content: 'broken\n' }, { say: 'Fix it\n\nAll tests pass.' }]);
    const run = await planned();
    await world.approve(run);
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    const states = done.actions.map(({ definition, state }) => `${definition.kind} ${state}`);
    expect(states).to.include.members(['run_validation failed', 'push_branch blocked']);
  });

  itWith(
    ['time'],
    'refuses 100,000 files by the bound that they pass, in little memory, and keeps none of them',
    async () => {
      const files = 'seq 100000 | (mkdir many && cd many && xargs touch)';
      configure([], { protocol: 'command', command: ['sh', '-c', `${files} && ls many | wc -l >&2`] });
      const beside = () => String(execFileSync('find', [world.checkout.dir, '-printf', '%p %T@ %C@\n']));
      const number = await world.newIssue('Greet strangers.');
      const before = beside();
      const heap = { NODE_OPTIONS: '--max-old-space-size=64' };
      const { code, stderr } = await world.command(planArgs(number), heap);
      expect(stderr).to.contain('more than 20000 changed files').and.to.contain('[agent_tree_too_large]');
      expect(code).to.equal(3);
      expect(beside()).to.equal(before);
      expect((await world.command(['show', 'last', '--prompt'])).stdout).to.match(/standard error\s+100000/);
      expect(processes()).to.deep.equal([]);
      expect(leftovers()).to.deep.equal([]);
      const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
      expect(found!.status).to.equal('failed');
      expect((await world.agent.verify(found!.run_id)).problems).to.deep.equal([]);
    },
  );

  itWith(
    ['time'],
    'ends an agent that fills its disk, names the limit, and keeps nothing of it',
    async () => {
      const limits = {
        seconds: 600,
        memory_mib: 4096,
        processes: 512,
        disk_mib: 64,
        output_bytes: 8_388_608,
      };
      writeFileSync(join(world.home, 'config/validation.json'), JSON.stringify({ limits }));
      const fill = 'while :; do head -c 8388608 /dev/zero >"$(date +%N)" || sleep 1; done';
      configure([], { protocol: 'command', command: ['sh', '-c', fill] });
      const { code, stderr } = await world.command(planArgs(await world.newIssue('Greet strangers.')));
      expect(code).to.equal(1);
      expect(stderr).to.contain('more than 64 MiB').and.to.contain('[agent_failed]');
      expect(leftovers()).to.deep.equal([]);
    },
  );

  it('leaves no process of an agent that forks and ends', async () => {
    const beat = `/tmp/home/${randomUUID()}`;
    configure([{ fork: beat }, ...solve]);
    expect(await planned()).to.include({ status: 'awaiting_approval' });
    expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.to.include(beat);
  });

  it('stops at the money that the run may cost, which the gateway keeps, and shows the draft', async () => {
    await withModel(() => ({ text: 'x', usage: { input: 4_000, output: 500 } }));
    configure([asked, ...solve, asked, { hang: 'until cancelled' }], {
      dialect: 'chat',
      bounds: { money: 0.006, seconds: undefined, turns: undefined },
    });
    const { code, stderr } = await world.command(planArgs(await world.newIssue('Greet strangers.')));
    expect(stderr).to.contain(
      'at its bound of $0.0060: agent scripted used 1 model call, 4,500 tokens, $0.0050',
    );
    expect(code).to.equal(3);
    const { stdout } = await world.command(['diff', 'last', '--draft']);
    expect(stdout).to.contain("+  return 'Hello ' + (name || 'stranger');");
    expect((await world.command(['show', 'last'])).stdout).to.match(/draft .*diff .* --draft/);
    const json = JSON.parse((await world.command(['show', 'last', '--json'])).stdout);
    expect(json.agent).to.include({ name: 'scripted', end: 'bound', draft: true });
  });

  it('fails with a gateway that dies while it answers, names the gateway, and leaves nothing behind', async () => {
    const begun = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"As "}}]}\n\n';
    await withModel(() => ({ stall: [begun], ms: 120_000 }));
    await expectLostGateway([asked]);
  });

  it('fails with a gateway that dies between answers, names the gateway, and leaves nothing behind', async () => {
    await withModel(() => ({ text: 'x' }));
    // It asks until nobody answers, however late the gateway is ended.
    await expectLostGateway(Array.from({ length: 200 }, () => [asked, { wait: 300 }]).flat());
  });

  /** In both tests, the answer may or may not have begun when the gateway is killed. */
  async function expectLostGateway(steps: readonly Step[]): Promise<void> {
    configure(steps, { dialect: 'chat' });
    const planning = world.command(planArgs(await world.newIssue('Greet strangers.')));
    await until('the first question', () => upstream!.requests.length >= 1);
    await gateway!.kill();
    const { code, stderr } = await planning;
    expect(code).to.equal(1);
    expect(stderr).to.match(/core-model-gateway (did not answer|broke an answer off)[^\n]*\[agent_failed\]/);
    expect(leftovers()).to.deep.equal([]);
  }

  for (const point of ['agent.started', 'agent.prompted', 'agent.ended', 'agent.read_back'].filter(
    isKilledHere,
  )) {
    it(`goes on after a kill at ${point}, and nothing of the killed one is left`, async () => {
      configure(solve);
      const number = await world.newIssue('Greet strangers.');
      const killed = await world.command(planArgs(number), { CORE_CRASH_AT: point });
      expect(killed.signal).to.equal('SIGKILL');
      await until('the end of all processes', () => processes().length === 0);
      const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
      expect(found!.status).to.equal('interrupted');
      const run = await world.agent.resume({ run_id: found!.run_id, by: everybody }, quiet);
      expect(run.status).to.equal('awaiting_approval');
      expect(run.agent!.started.attempt).to.equal(point === 'agent.read_back' ? 1 : 2);
      expect(Buffer.from(await world.agent.diff(run.run_id)).toString('utf8')).to.contain('stranger');
      expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
      expect(leftovers()).to.deep.equal([]);
    });
  }

  it('says at Ctrl-C how to go on, and goes on so', async () => {
    configure([{ tool: 'Think' }, { hang: 'until cancelled' }]);
    const number = await world.newIssue('Greet strangers.');
    const { child, ended } = world.start(planArgs(number));
    await until('the start of the agent', async () => {
      const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
      return found !== undefined && (await world.agent.run(found.run_id)).agent?.program != null;
    });
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).to.equal(130);
    expect(stderr).to.match(/stopped {2}by you[\s\S]*resume/);
    expect(processes()).to.deep.equal([]);
    configure(solve);
    const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
    const run = await world.agent.resume({ run_id: found!.run_id, by: everybody }, quiet);
    expect(run.agent!.started.attempt).to.equal(2);
    expect(draftOf(run)).to.equal(null);
  });

  it('says in the preview what an agent reaches beside its model, and raises the risk', async () => {
    const steps: Step[] = [{ write: 'docs.md', content: 'How to greet.\n' }, { say: 'Add a page' }];
    const patchOf = ({ actions }: Awaited<ReturnType<typeof planned>>) =>
      actions.find(({ definition }) => definition.kind === 'apply_patch')!.definition;
    configure(steps);
    const calm = await planned();
    configure(steps, { network: { hosts: ['api.anthropic.com'] } });
    const reaching = await planned();
    expect(calm.plan!.notices.join()).not.to.contain('could reach');
    expect(reaching.plan!.notices.join()).to.contain('beside its model: api.anthropic.com');
    expect(patchOf(reaching).risk_reasons).to.include('made by an agent that reaches api.anthropic.com');
    expect(patchOf(reaching).risk_score).to.equal(patchOf(calm).risk_score + 20);
  });

  it('gives an agent no login that is not there, and says so', async () => {
    configure(solve, { credentials: ['~/.no-such-agent/login.json'] });
    const failure = await planned().catch((error) => error);
    expect(failure).to.have.property('code', 'agent_login_missing');
    expect(leftovers()).to.deep.equal([]);
  });

  it('refuses an agent of another name before anything is made', async () => {
    configure(solve);
    const number = await world.newIssue('Greet strangers.');
    const { code, stderr } = await world.command([...planArgs(number).slice(0, -1), 'cursor']);
    expect(code).to.equal(2);
    expect(stderr).to.contain('must be one of patch, model, agent, scripted');
    expect((await world.agent.runs({ limit: 1, ...ref, number })).runs).to.deep.equal([]);
  });

  it('keeps the environment of Core and its key out of the sandbox', async () => {
    await withModel(() => ({ text: 'x' }));
    configure([{ keep_environment: 'seen.json' }, { say: 'Look around' }], { dialect: 'chat' });
    const run = await planned();
    const patch = Buffer.from(await world.agent.diff(run.run_id)).toString('utf8');
    const line = patch.split('\n').find((one) => one.startsWith('+{'))!;
    const seen = JSON.parse(line.slice(1));
    expect(seen).to.include({
      MODEL_ADDRESS: 'http://127.0.0.1:4101',
      MODEL_KEY: 'core-run-key',
      HOME: '/tmp/home',
    });
    expect(Object.keys(seen).filter((name) => name.startsWith('CORE_'))).to.deep.equal(['CORE_PROMPT_FILE']);
    expect(readFileSync(join(world.home, 'state/runs', run.run_id, 'events.jsonl'), 'utf8')).not.to.contain(
      'core_run-key',
    );
  });
});
