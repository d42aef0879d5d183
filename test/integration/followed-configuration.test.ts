import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { readRoleMap } from '../../services/bridge/targets/role-map.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

describe('Configuration of planning and execution that changes while they run', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  afterEach(() => world.close());

  const write = (name: string, value: unknown) =>
    writeFileSync(join(world.home, `config/${name}.json`), JSON.stringify(value));
  const planned = async () =>
    world.agent.planIssue({ ...ref, number: await world.newIssue('What now?'), by: everybody }, quiet);

  it('counts from the next planning on: roles, planner, risk, validation and models', async () => {
    const before = await planned();
    expect(before.request).to.include({ role: 'Depute', planner: 'patch' });
    expect(before.actions[0]!.definition.risk_score).to.not.equal(77);

    write('policy', { risk: { base: { comment_issue: 77 } } });
    expect((await planned()).actions.at(-1)!.definition.risk_score).to.be.at.least(77);

    const role = { name: 'Smith', key: 'default', purpose: 'All', prompt: 'Do.', tier: 'large' };
    write('agents', { roles: [{ ...role, may_propose: ['comment_issue'] }] });
    const { roles } = (await world.agent.capabilities()) as { roles: { name: string }[] };
    expect(roles.map(({ name }) => name)).to.deep.equal(['Smith']);
    expect(await planned().catch(codeOf)).to.equal('role_unknown');

    write('models', {
      models: { m: { upstreams: [{ kind: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'm' }] } },
    });
    const { planners } = (await world.agent.capabilities()) as {
      planners: { name: string; works: boolean }[];
    };
    expect(planners).to.deep.include({ name: 'model', works: true, reason: null });
  });

  it('stays as it was where a file cannot be used', async () => {
    await world.agent.capabilities();
    write('policy', { risk: { base: { comment_issue: 'high' } } });
    write('agents', { roles: 'all' });
    write('models', { models: [] });
    const run = await planned();
    expect(run.request).to.include({ role: 'Depute', planner: 'patch' });
    expect(run.status).to.equal('awaiting_approval');
  });

  it('reaches approvals: their time is that of policy.json as it is now', async () => {
    const run = await planned();
    write('policy', { approval: { expires_after_days: 1 } });
    const { actions } = await world.approve(run);
    const { at, expires_at } = actions[0]!.decision!;
    expect(Date.parse(expires_at!) - Date.parse(at)).to.equal(86_400_000);
  });

  it('reaches the roles of the bridge', () => {
    const roles = readRoleMap({ config: join(world.home, 'config') });
    expect(roles.find('triage')!.role.name).to.equal('Avisour');
    write('agents', {
      roles: [
        { name: 'Smith', key: 'triage', purpose: 'All', prompt: 'Do.', tier: 'large', may_propose: [] },
      ],
    });
    expect(roles.find('triage')).to.deep.include({ role: { key: 'triage', name: 'Smith' }, plans: false });
    write('agents', { roles: [] });
    expect(roles.find('triage')!.role.name).to.equal('Smith');
  });
});
