import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { UsageReply } from '#kit/contracts/model-gateway/usage.ts';
import { decode } from '#kit/decode.ts';
import { greetSteps } from '../fixtures/models/greet-steps.ts';
import { type ModelServer, type Script, startModelServer } from '../fixtures/models/model-server.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { freePort } from '../support/free-port.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from './model-key-gateway.ts';

const solve: Script = ({ body }) =>
  greetSteps[body.messages.filter(({ role }) => role === 'assistant').length]!;
const planted = 'sk-planted-7Qx2mVb9LtRz4KdN8wYc';

describe('The model planner through the gateway', () => {
  let world: World;
  let upstream: ModelServer;
  let gateway: GatewayProcess | undefined;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = undefined;
    await upstream?.close();
    await world.close();
  });

  async function configure(script: Script, change: object = {}): Promise<void> {
    upstream = await startModelServer(script);
    const price = { input: 1, output: 2, cached: 0.1, ...change };
    const entry = { kind: 'openai', base_url: upstream.url, model: 'scripted-1', credential: 'key', price };
    const models = { coder: { tier: 'large', upstreams: [entry] } };
    await configureGateway(world.home, { models }, { key: planted });
  }

  async function planned(number: number) {
    return world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
  }

  function planArgs(number: number, ...more: string[]): string[] {
    return ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number), ...more];
  }

  it('carries an issue to a pull request; the key is the upstream’s alone, and the run has paid', async () => {
    await configure(solve);
    gateway = await startGatewayProcess(world.home);
    const run = await planned(await world.newIssue('Strangers are greeted wrongly.'));
    expect(run.request.planner).to.equal('model');
    expect(upstream.requests.map(({ headers }) => headers.authorization)).to.deep.equal(
      greetSteps.map(() => `Bearer ${planted}`),
    );
    expect(upstream.requests.every(({ body }) => body.model === 'scripted-1')).to.equal(true);

    const usage = await usageByRun(gateway);
    expect(usage.rows).to.have.length(1);
    expect(usage.rows[0]).to.include({ name: run.run_id, calls: 3, input_tokens: 300, output_tokens: 60 });
    expect(usage.rows[0]!.cost).to.be.closeTo(run.usage!.cost!, 1e-9);
    expect(run.usage!.provider).to.equal(new URL(upstream.url).host);
    expect(await (await gateway.ask('GET', '/v1/keys')).json()).to.deep.equal({ keys: [] });

    await world.approve(run);
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    expect(done.status).to.equal('completed');
    expect(holding(world.home, planted)).to.deep.equal(['config/secrets/key']);
    expect(holding(world.home, 'core_run-key_')).to.deep.equal([]);
  });

  it('goes on when the gateway is killed in the middle, and counts the call that was cut off', async () => {
    let asked = 0;
    let restarted: Promise<GatewayProcess> | null = null;
    await configure((request, index) => {
      if (++asked === 2) restarted = gateway!.kill().then(() => gateway!.again());
      return solve(request, index);
    });
    gateway = await startGatewayProcess(world.home);
    const run = await planned(await world.newIssue('Strangers are greeted wrongly.'));
    gateway = await restarted!;
    expect(run.actions).to.have.length(7);
    const { rows } = await usageByRun(gateway);
    expect(rows[0]!.name).to.equal(run.run_id);
    // The call before may have ended within the moment that ended calls wait to be written together.
    expect(rows[0]!.unsettled).to.be.within(1, 2);
    expect(rows[0]!.calls).to.equal(asked);
  });

  it('stops at the money bound of the run, which the gateway keeps, and says what was used', async () => {
    await configure((request, index) => ({ ...solve(request, index), usage: { input: 4_000, output: 500 } }));
    writeFileSync(join(world.home, 'config/agents.json'), '{"planner":{"bounds":{"money":0.006}}}');
    gateway = await startGatewayProcess(world.home);
    const number = await world.newIssue('Strangers are greeted wrongly.');
    const { code, stderr } = await world.command(planArgs(number));
    expect(code).to.equal(3);
    expect(stderr).to.contain('at its bound of $0.0060: 1 turn of the model used 4,500 tokens, $0.0050');
    expect(stderr).to.contain('raise planner.bounds.money');
    expect(await (await gateway.ask('GET', '/v1/keys')).json()).to.deep.equal({ keys: [] });
    expect(upstream.requests).to.have.length(1);
  });

  it('finds the gateway on another port than configured, and bounds an answer as the model wants it', async () => {
    const message = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    await configure((request, index) =>
      request.body.max_tokens === undefined
        ? solve(request, index)
        : { status: 400, body: { error: { message, code: 'unsupported_parameter' } } },
    );
    gateway = await startGatewayProcess(world.home, {}, await freePort());
    const run = await planned(await world.newIssue('Strangers are greeted wrongly.'));
    expect(run.actions).to.have.length(7);
    expect(upstream.requests.map(({ body }) => body.max_completion_tokens)).to.deep.equal([
      undefined,
      ...greetSteps.map(() => 8_192),
    ]);
  });

  it('asks for no longer answer than the money left allows', async () => {
    await configure(solve, { output: 500 });
    gateway = await startGatewayProcess(world.home);
    const run = await planned(await world.newIssue('Strangers are greeted wrongly.'));
    expect(run.actions).to.have.length(7);
    const asked = upstream.requests.map(({ body }) => body.max_tokens as number);
    expect(asked[0]).to.equal(2_000);
    expect(asked).to.deep.equal([...asked].sort((a, b) => b - a));
  });

  it('says how to start the gateway where none answers', async () => {
    await configure(solve);
    const { code, stderr } = await world.command(planArgs(await world.newIssue('Nobody is there.')));
    expect(code).to.equal(5);
    expect(stderr).to.contain('core-model-gateway does not answer at').and.to.contain('./core up');
  });

  it('says how to configure a model where there is none, and plans with patches by default', async () => {
    const number = await world.newIssue('No model.');
    const asked = await world.command(planArgs(number, '--planner', 'model'));
    expect(asked.code).to.equal(3);
    expect(asked.stderr).to.contain('model_not_configured').and.to.contain('./core model add');
    const { planners } = (await world.agent.capabilities()) as {
      planners: { name: string; works: boolean }[];
    };
    expect(planners.map(({ name, works }) => [name, works])).to.deep.equal([
      ['patch', true],
      ['model', false],
      ['agent', false],
    ]);
  });
});

async function usageByRun(gateway: GatewayProcess): Promise<UsageReply> {
  return decode(UsageReply, await (await gateway.ask('GET', '/v1/usage?by=run')).json(), 'usage');
}

/** Files below a folder that hold a text, by their path there. */
function holding(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(text))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}
