import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, makeWorld, quiet, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

for (const vcs of ['git', 'jj'] as const) {
  describeWith([vcs], `the undo of a delivery whose end nobody recorded, with ${vcs}`, () => {
    let world: World;
    before(async () => {
      world = await makeWorld({ vcs });
      allowUnsandboxed(world);
    });
    after(() => world?.close());

    it('takes the branch out of the checkout', async () => {
      const planned = await delivered(world);
      const { code, stdout, stderr } = await world.command(['undo', planned.run_id, '--yes']);
      expect(code, stderr).to.equal(0);
      expect(stdout).not.to.contain('was not delivered');
      expect(branchIn(world.checkout.dir, planned)).to.equal('');
      expect((await world.agent.run(planned.run_id)).status).to.equal('undone');
    });

    it('takes it out of the checkout of an earlier try, once the run completed without one', async () => {
      const planned = await delivered(world);
      const { run_id } = planned;
      const executed = await world.command(['execute-approved', '--run-id', run_id, '--no-repo-dir']);
      expect(executed.code, executed.stderr).to.equal(0);
      expect(branchIn(world.checkout.dir, planned)).not.to.equal('');
      expect((await world.command(['undo', run_id, '--yes'])).code).to.equal(0);
      expect(branchIn(world.checkout.dir, planned)).to.equal('');
      expect((await world.agent.run(run_id)).status).to.equal('undone');
    });

    it('takes it out when it is asked again, where it was checked out before', async () => {
      const planned = await delivered(world);
      const { branch } = planned.plan!.target;
      world.checkout.git('checkout', '-q', branch!);
      const inUse = await world.command(['undo', planned.run_id, '--yes']);
      expect(inUse.code).to.equal(1);
      expect(inUse.stderr).to.contain('switch to another branch');
      world.checkout.git('checkout', '-q', 'main');
      expect((await world.command(['undo', planned.run_id, '--yes'])).code).to.equal(0);
      expect(branchIn(world.checkout.dir, planned)).to.equal('');
    });

    it('leaves it where the person made another commit of it', async () => {
      const planned = await delivered(world);
      const { branch } = planned.plan!.target;
      world.checkout.git('checkout', '-q', branch!);
      const mira = ['-c', 'user.name=Mira', '-c', 'user.email=mira@example.org'];
      world.checkout.git(...mira, 'commit', '-q', '--amend', '-m', 'mine');
      world.checkout.git('checkout', '-q', 'main');
      await world.command(['undo', planned.run_id, '--yes']);
      expect(await saidOfCommit(world, planned)).to.contain('not ours any more; it stays');
      expect(branchIn(world.checkout.dir, planned)).not.to.equal('');
    });
  });
}

describeWith(['git'], 'the undo of a delivery to a path that means something else now', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });
  afterEach(() => world?.close());

  it('says that another clone is there, and not that the branch is gone', async () => {
    const { dir } = world.checkout;
    const run = await executed(world, dir);
    renameSync(dir, `${dir}-before`);
    execFileSync('git', ['clone', '-q', world.remote.dir, dir]);
    await world.command(['undo', run.run_id, '--yes']);
    expect(await saidOfCommit(world, run)).to.contain(`${dir} is another repository than the one that got`);
    expect(branchIn(`${dir}-before`, run)).not.to.equal('');
    expect((await world.agent.run(run.run_id)).status).not.to.equal('undone');

    rmSync(dir, { recursive: true });
    renameSync(`${dir}-before`, dir);
    await world.command(['undo', run.run_id, '--yes']);
    expect(branchIn(dir, run)).to.equal('');
    expect((await world.agent.run(run.run_id)).status).to.equal('undone');
  });

  it('goes to the checkout that a link led to when it was delivered', async () => {
    const { dir } = world.checkout;
    const link = join(world.home, '../link');
    const second = join(world.home, '../second');
    execFileSync('git', ['clone', '-q', world.remote.dir, second]);
    symlinkSync(dir, link);
    const run = await executed(world, link);
    rmSync(link);
    symlinkSync(second, link);
    expect((await world.command(['undo', run.run_id, '--yes'])).code).to.equal(0);
    expect(branchIn(dir, run)).to.equal('');
    expect((await world.agent.run(run.run_id)).status).to.equal('undone');
  });
});

/** Killed between the delivery and its record. */
async function delivered(world: World): Promise<Run> {
  const planned = await world.plannedAndApproved();
  const args = ['execute-approved', '--run-id', planned.run_id, '--repo-dir', world.checkout.dir];
  const { signal, stderr } = await world.command(args, { CORE_CRASH_AT: 'commit.delivered' });
  expect(signal, stderr).to.equal('SIGKILL');
  expect(branchIn(world.checkout.dir, planned)).not.to.equal('');
  return planned;
}

async function executed(world: World, repo_dir: string): Promise<Run> {
  const { run_id } = await world.plannedAndApproved();
  const run = await world.agent.execute(
    { run_id, repo_dir, actions: null, dry_run: false, by: everybody },
    quiet,
  );
  const commit = run.actions.find(({ definition }) => definition.kind === 'commit')!;
  const { host, dir } = commit.deliveries[0]!.deliver_to;
  expect({ host, dir }).to.deep.equal({ host: hostname(), dir: world.checkout.dir });
  return run;
}

async function saidOfCommit(world: World, { run_id, actions }: Run): Promise<string> {
  const { action_id } = actions.find(({ definition }) => definition.kind === 'commit')!.definition;
  const { undo } = await world.agent.run(run_id);
  return undo!.results.find((result) => result.action_id === action_id)!.message;
}

function branchIn(dir: string, { plan }: Run): string {
  const ref = `refs/heads/${plan!.target.branch}`;
  return execFileSync('git', ['-C', dir, 'for-each-ref', ref], { encoding: 'utf8' }).trim();
}
