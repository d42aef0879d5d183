import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import type { Ended } from '../fixtures/world/core-command.ts';
import { greetPatch, makeWorld, type World } from '../fixtures/world/world.ts';

describe('Short commands in a checkout', () => {
  let world: World;
  let number: number;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
  });
  after(() => world.close());

  async function core(args: readonly string[], folder = world.checkout.dir): Promise<Ended> {
    return world.command(args, {}, folder);
  }

  it('plan, approve and execute an issue by its number, and deliver to that checkout', async () => {
    const below = join(world.checkout.dir, 'src');
    mkdirSync(below, { recursive: true });
    const planned = await core(['plan', String(number)], below);
    expect(planned.stdout).to.contain(`demo/hello#${number}  `).and.to.contain('create_branch');
    for (const args of [['diff'], ['approve', '--gate', 'build'], ['execute-approved']]) {
      const [command = '', ...options] = args;
      const done = await core([command, String(number), ...options], below);
      expect(done.code, done.stderr).to.equal(0);
    }
    expect(world.checkout.git('branch', '--list', 'core/*')).to.contain(`core/${number}-`);
    const shown = await core(['show', 'last', '--json'], '/');
    expect(JSON.parse(shown.stdout).execution.repo_dir).to.equal(world.checkout.dir);
  });

  it('do not deliver to a checkout of another repository', async () => {
    const elsewhere = temporaryFolder();
    const issue = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const planned = await core(['plan', `demo/hello#${issue}`], elsewhere);
    expect(planned.code, planned.stderr).to.equal(0);
    await core(['approve', String(issue), '--gate', 'build'], elsewhere);
    const refused = await core(['execute-approved', String(issue)], elsewhere);
    expect(refused.stderr).to.contain('[repo_dir_required]');
    expect(refused.code).to.equal(3);
  });

  it('say which repository is missing where there is no checkout', async () => {
    const refused = await core(['plan', '1'], temporaryFolder());
    expect(refused.stderr).to.contain('[repository_unclear]').and.to.contain('OWNER/REPO#1');
    expect(refused.code).to.equal(2);
  });
});
