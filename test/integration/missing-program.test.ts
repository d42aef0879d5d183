import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeWorld, type World } from '../fixtures/world/world.ts';

describe('A validation that calls a program which the sandbox does not find', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  afterEach(() => world.close());

  /** Without a sandbox, which not every machine has. */
  function validateBy(run: string): void {
    const commands = [{ name: 'test', run }];
    const settings = { sandbox: 'none', allow_unsandboxed: true, default: { commands } };
    writeFileSync(join(world.home, 'config/validation.json'), JSON.stringify(settings));
  }

  it('is noticed while the issue is planned', async () => {
    validateBy('true && no-such-tool --all');
    const { run_id, plan } = await world.plannedAndApproved();
    expect(plan!.notices).to.include(
      'the validation calls no-such-tool, which is not installed on this machine',
    );
    expect(plan!.checks.find(({ name }) => name === 'programs')).to.deep.equal({
      name: 'programs',
      passed: false,
      detail: 'the sandbox does not find no-such-tool, so the validation would fail',
    });
    const { stdout } = await world.command(['show', run_id]);
    expect(stdout).to.contain('note  the validation calls no-such-tool, which is not installed');
  });

  it('passes its check where everything is found', async () => {
    validateBy('true && node --version');
    const { plan } = await world.plannedAndApproved();
    const check = plan!.checks.find(({ name }) => name === 'programs');
    expect(check).to.include({ passed: true });
  });
});
