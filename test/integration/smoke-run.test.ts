import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { demoIssue } from '../../services/status/smoke/demo-issue.ts';
import { type BrokenContext, brokenContext } from '../fixtures/context/broken-context.ts';
import { everybody, makeWorld, quiet, type World } from '../fixtures/world/world.ts';

describe('the run of a smoke test', () => {
  let world: World;
  let others: BrokenContext;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    others = await brokenContext((_, response) => response.writeHead(500).end());
    const write = (name: string, content: object) =>
      writeFileSync(join(world.home, 'config', name), JSON.stringify(content));
    write('core.json', { context: { url: others.url }, vcs: 'git' });
    write('agents.json', { planner: { default: 'model' } });
    const port = Number(new URL(others.url).port);
    const upstream = { kind: 'openai', base_url: `${others.url}/v1`, model: 'm', credential: null };
    write('models.json', { port, models: { m: { upstreams: [upstream] } } });
  });
  afterEach(async () => {
    await world.close();
    await others.close();
  });

  async function planned() {
    const folders = { state: join(world.home, 'state') };
    const { number } = await demoIssue(folders, new AbortController().signal);
    const { name: forge, owner, repo } = smokeForge;
    return world.agent.planIssue({ forge, owner, repo, number, by: everybody }, quiet);
  }

  it('asks no model, whatever planner is configured, and core-context nothing', async () => {
    const run = await planned();
    expect(run.status, JSON.stringify(run.failure)).to.equal('awaiting_approval');
    expect(run.request.planner).to.equal('patch');
    expect(await world.agent.deliverPending(quiet.signal)).to.deep.include({ delivered: [], waiting: [] });
    await world.approve(run, ['create_branch']);
    expect(await world.agent.deliverPending(quiet.signal)).to.deep.include({ delivered: [], waiting: [] });
    expect(others.asked).to.deep.equal([]);
  });

  it('is durable, in no ordinary list, and found by its id and its forge', async () => {
    const { run_id } = await planned();
    expect((await world.agent.runs({ limit: 10 })).runs).to.deep.equal([]);
    const shown = (await world.agent.runs({ limit: 10, forge: smokeForge.name })).runs;
    expect(shown.map((run) => run.run_id)).to.deep.equal([run_id]);
    expect((await world.agent.run(run_id)).run_id).to.equal(run_id);
    expect(await world.agent.countRuns()).to.equal(1);
    const listed = await world.command(['runs', '--json']);
    expect(JSON.parse(listed.stdout).runs).to.deep.equal([]);
    expect((await world.command(['runs', '--forge', smokeForge.name])).stdout).to.contain(smokeForge.repo);
  });
});
