import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ModelServer, type Script, startModelServer } from '../fixtures/models/model-server.ts';
import { until } from '../fixtures/until.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

const call = (name: string, args: unknown) => ({ calls: [{ name, arguments: args }] });

/** What a model does that solves the world's issue; by the number of answers that the conversation has so far. */
const steps = [
  call('search_text', { text: 'Hello' }),
  call('read_file', { path: 'src/greet.js' }),
  call('edit_file', {
    path: 'src/greet.js',
    old_text: "'Hello ' + name",
    new_text: "'Hello ' + (name || 'stranger')",
  }),
  call('run_validation', {}),
  call('submit_plan', {
    title: 'Greet strangers when no name is given',
    explanation: 'An empty name is no name.',
  }),
];

/** Answers by what was said before, as a model does: the same conversation gets the same answer. */
const solve: Script = ({ body }) => steps[body.messages.filter(({ role }) => role === 'assistant').length]!;

describe('planning with a model', () => {
  let world: World;
  let server: ModelServer;

  async function worldWith(script: Script, bounds: object = {}): Promise<void> {
    server = await startModelServer(script);
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    const upstream = {
      kind: 'openai',
      base_url: server.url,
      model: 'scripted-1',
      price: { input: 1, output: 2, cached: 0.1 },
    };
    const { port } = new URL(server.url);
    const models = { 'scripted-1': { kind: 'chat', upstreams: [upstream] } };
    const write = (name: string, value: unknown) =>
      writeFileSync(join(world.home, `config/${name}.json`), JSON.stringify(value));
    write('models', { port: Number(port), models });
    write('agents', { planner: { bounds } });
  }

  afterEach(async () => {
    await world?.close();
    await server?.close();
  });

  async function planned(number: number) {
    return world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
  }

  it('becomes actions like any other, with its turns, tokens and cost on record', async () => {
    await worldWith(solve);
    const run = await planned(await world.newIssue('Strangers are greeted wrongly.'));
    expect(run.request.planner).to.equal('model');
    expect(run.actions).to.have.length(7);
    expect(run.turns.map(({ tool_calls }) => tool_calls[0])).to.deep.equal(
      steps.map(({ calls }) => calls[0]!.name),
    );
    expect(run.usage).to.include({ input_tokens: 500, output_tokens: 100 });
    expect(run.usage!.cost).to.be.greaterThan(0);
    const patch = Buffer.from(await world.agent.diff(run.run_id)).toString('utf8');
    expect(patch).to.contain("+  return 'Hello ' + (name || 'stranger');");

    await world.approve(run);
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    expect(done.status).to.equal('completed');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
  });

  it('goes on after a kill in the middle, asking the model only for what is missing', async () => {
    let asked = 0;
    let kill = () => {};
    await worldWith((request, index) => {
      asked++;
      if (asked === 4) kill();
      return solve(request, index);
    });
    const number = await world.newIssue('Strangers are greeted wrongly.');
    const args = ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number)];
    const { ended, child } = world.start(args);
    kill = () => child.kill('SIGKILL');
    expect((await ended).signal).to.equal('SIGKILL');

    const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
    expect(found!.status).to.equal('interrupted');
    const before = await world.agent.run(found!.run_id);
    expect(before.turns).to.have.length(3);
    kill = () => {};
    const run = await world.agent.resume({ run_id: found!.run_id, by: everybody }, quiet);
    expect(run.turns).to.have.length(5);
    expect(asked, 'three turns, the cut-off one, and the two missing').to.equal(6);
    expect(run.actions).to.have.length(7);
    expect(Buffer.from(await world.agent.diff(run.run_id)).toString('utf8')).to.contain('stranger');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
  });

  it('says at Ctrl-C which run it is and how to go on, and goes on so', async () => {
    let stop = () => {};
    let stopped = false;
    await worldWith((request, index) => {
      if (index !== 2 || stopped) return solve(request, index);
      stopped = true;
      stop();
      return { stall: [], ms: 30_000 };
    });
    const number = await world.newIssue('Strangers are greeted wrongly.');
    const args = ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number)];
    const { ended, child } = world.start(args);
    stop = () => child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).to.equal(130);
    const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
    expect(stderr).to.contain(`run ${found!.run_id} keeps what was done`);
    const [, short] = /resume (run_[0-9a-f-]+)/.exec(stderr)!;
    expect(found!.run_id.startsWith(short!)).to.equal(true);
    const resumed = await world.command(['resume', short!]);
    expect(resumed.code, resumed.stderr).to.equal(0);
    expect((await world.agent.run(found!.run_id)).actions).to.have.length(7);
  });

  it('ends at a bound with a failed run that says which, and proposes nothing', async () => {
    await worldWith(() => call('list_files', {}), { steps: 3 });
    const number = await world.newIssue('Go round in circles.');
    const { code, stderr } = await world.command([
      'plan-issue',
      ...['--owner', ref.owner, '--repo', ref.repo, '--number', String(number)],
    ]);
    expect(code).to.equal(3);
    expect(stderr).to.contain('planner_bound_reached').and.to.contain('steps');
    const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
    expect(found).to.include({ status: 'failed', actions: 0 });
  });

  it('stops the model when the run is cancelled', async () => {
    await worldWith(() => ({ stall: [], ms: 30_000 }));
    const number = await world.newIssue('Take your time.');
    const planning = planned(number).then(
      () => 'ended well',
      (error: Error) => error.message,
    );
    await until('a request', () => server.requests.length > 0);
    const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
    await world.agent.cancel({ run_id: found!.run_id, by: everybody, reason: 'enough' });
    expect(await planning).to.not.equal('ended well');
    expect((await world.agent.run(found!.run_id)).status).to.equal('cancelled');
    await until('its end upstream', () => server.aborted() > 0);
  });

  it('keeps a secret that the model writes out of actions and record', async () => {
    const secret = `ghp_${'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6'.slice(0, 36)}`;
    const leaking = [
      call('edit_file', { path: 'src/greet.js', old_text: "'Hello '", new_text: `'${secret}'` }),
      call('submit_plan', { title: 'Leak', explanation: 'Leaks.' }),
    ];
    await worldWith(({ body }) => leaking[body.messages.filter(({ role }) => role === 'assistant').length]!);
    const number = await world.newIssue('Please leak.');
    const failure = await planned(number).catch((error) => error);
    expect(failure.code).to.equal('patch_adds_secret');
    expect(failure.message).to.not.contain(secret);
    const [found] = (await world.agent.runs({ limit: 1, ...ref, number })).runs;
    expect(found).to.include({ status: 'failed', actions: 0 });
    const holding = readdirSync(join(world.home, 'state'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(secret))
      .map(({ name }) => name);
    expect(holding, 'files of the state folder that hold the secret').to.deep.equal([]);
  });
});
