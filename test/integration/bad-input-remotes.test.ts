import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import { makeRepository, type TestRepository } from '../fixtures/repositories/repository.ts';
import {
  allowUnsandboxed,
  expectVerified,
  issueWith,
  makePlace,
  outcomeOf,
  type Place,
  statesOf,
  validated,
} from '../fixtures/world/place.ts';
import { greetPatch, helloFiles, makeWorld, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const files = { ...helloFiles, ...validated };

for (const vcs of ['git', 'jj'] as const) {
  describeWith([vcs, 'time'], `what a remote may do, with ${vcs}`, () => {
    let world: World;
    let source: TestRepository;
    let place: Place;
    let count = 0;

    before(async () => {
      world = await makeWorld({ vcs });
      allowUnsandboxed(world);
    });
    beforeEach(async () => {
      count += 1;
      source = makeRepository(files);
      place = await makePlace(world, `repo-${count}`, source);
    });
    after(() => world?.close());

    async function approved(): Promise<Run> {
      return world.approve(await place.plan(issueWith(greetPatch)));
    }

    function branchOf(run: Run): string {
      return run.plan!.target.branch!;
    }

    function hook(name: string, script: string): string {
      const path = join(place.remote.dir, 'hooks', name);
      mkdirSync(join(place.remote.dir, 'hooks'), { recursive: true });
      writeFileSync(path, `#!/bin/sh\n${script}\n`);
      chmodSync(path, 0o755);
      return path;
    }

    function executing(run: Run) {
      return world.command(['execute-approved', run.run_id, '--repo-dir', place.checkout.dir]);
    }

    async function pulls(): Promise<number> {
      return (await world.forgeAdmin.listPullRequests(place, 'all')).length;
    }

    async function comments(run: Run): Promise<number> {
      const folder = join(place.remote.dir, '../comments', String(run.request.number));
      try {
        return readFileSync(folder).length;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'EISDIR' ? 1 : 0;
      }
    }

    it('reports what the remote says when it rejects a push, and continues when it relents', async () => {
      place.remote.git('config', 'receive.hideRefs', 'refs/heads');
      const run = await approved();
      const { code, stderr } = await executing(run);
      const stopped = await world.agent.run(run.run_id);
      expect(outcomeOf(stopped, 'push_branch')).to.include({ code: 'push_rejected' });
      expect(outcomeOf(stopped, 'push_branch').message).to.contain('deny updating a hidden ref');
      expect(stderr).to.contain('deny updating a hidden ref');
      expect(code).to.equal(1);
      expect(statesOf(stopped)).to.include({
        commit: 'succeeded',
        open_pull_request: 'blocked',
        comment_issue: 'blocked',
      });
      expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
      expect(await pulls()).to.equal(0);
      await expectVerified(world, stopped);
      place.remote.git('config', '--unset', 'receive.hideRefs');
      const done = await executing(run);
      expect(done.code, done.stderr).to.equal(0);
      expect((await world.agent.run(run.run_id)).status).to.equal('completed');
      expect(await pulls()).to.equal(1);
    });

    it('runs no hook of a repository on this machine, neither for a push nor for its undo', async () => {
      const log = join(place.remote.dir, '../hook.log');
      for (const name of ['pre-receive', 'update', 'post-receive', 'post-update', 'reference-transaction'])
        hook(name, `echo ${name} >> '${log}'`);
      const run = await place.execute(await approved());
      expect(run.status).to.equal('completed');
      await place.undo(run);
      expect(existsSync(log)).to.equal(false);
    });

    it('does not push over a branch of that name, and says where it is', async () => {
      const run = await approved();
      place.remote.git('branch', branchOf(run), 'main');
      const { code, stderr } = await executing(run);
      const stopped = await world.agent.run(run.run_id);
      expect(outcomeOf(stopped, 'push_branch').code).to.equal('branch_exists');
      expect(stderr).to.contain('is not ours; nothing was pushed');
      expect(code).to.equal(3);
      expect(place.remote.git('rev-parse', branchOf(run))).to.equal(place.remote.git('rev-parse', 'main'));
      place.remote.git('branch', '-D', branchOf(run));
      expect((await executing(run)).code).to.equal(0);
    });

    it('does not push where the folder of its branch is a branch', async () => {
      const run = await approved();
      place.remote.git('branch', 'core', 'main');
      const { code, stderr } = await executing(run);
      const stopped = await world.agent.run(run.run_id);
      expect(statesOf(stopped)).to.include({
        commit: 'succeeded',
        push_branch: 'failed',
        open_pull_request: 'blocked',
      });
      expect(stderr).to.match(/refs\/heads\/core|core.*exists|cannot lock/);
      expect(code).to.equal(1);
      expect(place.remoteBranches()).to.deep.equal(['refs/heads/core', 'refs/heads/main']);
      await expectVerified(world, stopped);
      place.remote.git('branch', '-D', 'core');
      expect((await executing(run)).code).to.equal(0);
    });

    it('does not push through another name of a branch, there or not there yet', async () => {
      const run = await approved();
      const main = place.remote.git('rev-parse', 'main');
      for (const target of ['main', 'release/next']) {
        place.remote.git('symbolic-ref', `refs/heads/${branchOf(run)}`, `refs/heads/${target}`);
        const { code, stderr } = await executing(run);
        expect(stderr).to.contain(`another name of ${target}`);
        expect(code).to.equal(3);
        expect(place.remote.git('rev-parse', 'main')).to.equal(main);
        expect(place.remoteBranches()).to.not.include('refs/heads/release/next');
      }
    });

    it("respects the forge's protection rules and its default branch, whatever they are by now", async () => {
      const run = await approved();
      const path = join(place.remote.dir, '../repository.json');
      const record = JSON.parse(readFileSync(path, 'utf8'));
      const main = place.remote.git('rev-parse', 'main');
      for (const [change, words] of [
        [{ protected_branches: ['core/*'] }, 'rule core/* in repository.json'],
        [{ default_branch: branchOf(run) }, 'default or base branch'],
        [{ default_branch: branchOf(run).toUpperCase() }, 'default or base branch'],
        [{ archived: true }, 'archived'],
      ] as const) {
        writeFileSync(path, JSON.stringify({ ...record, ...change }));
        const { code, stderr } = await executing(run);
        expect(stderr).to.contain(words);
        expect(code).to.equal(3);
        expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
        expect(place.remote.git('rev-parse', 'main')).to.equal(main);
      }
      writeFileSync(path, JSON.stringify(record));
      expect((await executing(run)).code).to.equal(0);
    });

    it('respects the protected branches of its own policy, in any case', async () => {
      const run = await approved();
      const policy = JSON.parse(readFileSync(new URL('../../config/policy.json', import.meta.url), 'utf8'));
      const path = join(world.home, 'config/policy.json');
      writeFileSync(path, JSON.stringify({ ...policy, protected_branches: ['CORE/**'] }));
      const { code, stderr } = await executing(run);
      const rule = (file: string) => `protected by 'CORE/**' in protected_branches of ${file}`;
      expect(stderr).to.contain(rule(path));
      const { number } = run.request;
      const ref = ['--owner', place.owner, '--repo', place.repo, '--number', String(number)];
      const planned = await world.command(['plan-issue', ...ref, '--keep', '--json']);
      rmSync(path);
      const { actions, plan } = JSON.parse(planned.stdout);
      expect(actions.map(({ kind }: { kind: string }) => kind)).to.not.include('push_branch');
      expect(plan.notices.join('\n'))
        .to.contain(`no push and no pull request is proposed: `)
        .and.contain(rule('config/policy.json'));
      expect(code).to.equal(3);
      expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
    });

    it('publishes what was approved although the base branch moved, and names the files that changed there', async () => {
      const run = await approved();
      source.commit({ 'src/greet.js': 'export const greet = 1;\n', 'other.txt': 'x\n' });
      source.git('push', '-q', place.remote.dir, 'main');
      const done = await place.execute(run);
      expect(done.status).to.equal('completed');
      expect(place.remote.git('rev-parse', `${branchOf(run)}~`)).to.equal(run.plan!.target.base_commit);
      const [pull] = await world.forgeAdmin.listPullRequests(place, 'all');
      expect(pull!.body).to.contain('also changed on the base branch since it was planned: `src/greet.js`');
    });

    it('needs nothing of the remote that its own pinned base does not give', async () => {
      const run = await approved();
      source.git('checkout', '-q', '--orphan', 'new-history');
      source.commit({ 'other.txt': 'x\n' });
      source.git('push', '-q', '-f', place.remote.dir, 'new-history:main');
      place.remote.git('gc', '-q', '--prune=now');
      const done = await place.execute(run);
      expect(done.status, JSON.stringify(done.actions.map(({ outcome }) => outcome))).to.equal('completed');
    });

    it('refuses when the base is not to be had any more, and changes nothing', async () => {
      const run = await approved();
      source.git('checkout', '-q', '--orphan', 'new-history');
      source.commit({ 'other.txt': 'x\n' });
      source.git('push', '-q', '-f', place.remote.dir, 'new-history:main');
      place.remote.git('gc', '-q', '--prune=now');
      rmSync(join(world.home, 'state/mirrors'), { recursive: true });
      const { code, stderr } = await executing(run);
      const stopped = await world.agent.run(run.run_id);
      expect(outcomeOf(stopped, 'create_branch').code).to.equal('base_unreachable');
      expect(stderr).to.contain('plan the issue again');
      expect(code).to.equal(3);
      expect(place.changes()).to.deep.equal([]);
      expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
      await expectVerified(world, stopped);
    });

    it('says that a remote cannot be reached, with exit code 5, and goes on when it is back', async () => {
      const run = await approved();
      const away = `${place.remote.dir}.away`;
      renameSync(place.remote.dir, away);
      const { code, stderr } = await executing(run);
      expect(stderr).to.contain(place.remote.dir);
      expect(code, stderr).to.equal(5);
      const stopped = await world.agent.run(run.run_id);
      expect(statesOf(stopped).push_branch).to.not.equal('succeeded');
      await expectVerified(world, stopped);
      renameSync(away, place.remote.dir);
      const done = await executing(run);
      expect(done.code, done.stderr).to.equal(0);
      expect(await pulls()).to.equal(1);
    });

    it('does not open a pull request, nor undo, over what others pushed on top', async () => {
      const run = await approved();
      const publish = ['commit', 'push_branch'];
      const first = await world.agent.execute(
        {
          run_id: run.run_id,
          repo_dir: place.checkout.dir,
          actions: run.actions
            .filter(({ definition }) => definition.gate === 'build' || publish.includes(definition.kind))
            .map(({ definition }) => definition.action_id),
          dry_run: false,
          by: { name: 'tester', scopes: ['execute'] },
        },
        { progress: () => {}, signal: new AbortController().signal },
      );
      expect(statesOf(first).push_branch).to.equal('succeeded');
      source.git('fetch', '-q', place.remote.dir, branchOf(run));
      source.git('checkout', '-q', 'FETCH_HEAD');
      const theirs = source.commit({ 'theirs.txt': 'x\n' });
      source.git('push', '-q', place.remote.dir, `HEAD:refs/heads/${branchOf(run)}`);
      const stopped = await place.execute(run);
      expect(outcomeOf(stopped, 'open_pull_request').code).to.equal('branch_moved');
      expect(await pulls()).to.equal(0);
      const undo = await world.command(['undo', run.run_id]);
      expect(undo.stderr).to.contain('others pushed on top');
      expect(undo.code).to.equal(3);
      expect(place.remote.git('rev-parse', branchOf(run))).to.equal(theirs);
      expect((await world.agent.run(run.run_id)).undo).to.equal(null);
    });

    it('keeps what was published when the issue takes no comment any more', async () => {
      const run = await approved();
      const path = join(place.remote.dir, `../issues/${run.request.number}.json`);
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), locked: true }));
      const { code, stderr } = await executing(run);
      expect(stderr).to.contain('locked');
      expect(code).to.equal(3);
      const stopped = await world.agent.run(run.run_id);
      expect(statesOf(stopped)).to.include({ open_pull_request: 'succeeded', comment_issue: 'refused' });
      expect(stopped.status).to.equal('partially_completed');
      expect(await comments(run)).to.equal(0);
      expect((await place.undo(stopped)).status).to.equal('undone');
      expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
    });
  });
}
