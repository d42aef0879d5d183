import { expect } from 'chai';
import { greetPatch, makeWorld, ref, type World } from '../../../../test/fixtures/world/world.ts';

describe('resuming on the command line', () => {
  let world: World;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  after(() => world.close());

  it('is done when an interrupted planning ends with a plan', async () => {
    const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const issue = ['--owner', ref.owner, '--repo', ref.repo, '--number', String(number)];
    const killed = await world.command(['plan-issue', ...issue], { CORE_CRASH_AT: 'plan.before_seal' });
    expect(killed.signal).to.equal('SIGKILL');
    const { runs } = await world.agent.runs({ limit: 1 });
    expect(runs[0]!.status).to.equal('interrupted');
    const resumed = await world.command(['resume', runs[0]!.run_id]);
    expect(resumed.code, resumed.stderr).to.equal(0);
    expect((await world.agent.run(runs[0]!.run_id)).status).to.equal('awaiting_approval');
  });
});
