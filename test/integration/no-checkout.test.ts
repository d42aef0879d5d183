import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type * as t from 'io-ts';
import { actionKinds } from '../../services/agentd/action.ts';
import { type CommitParams as CommitCodec, commit } from '../../services/agentd/actions/commit.ts';
import { nextSteps } from '../../services/agentd/cli/views/next-steps.ts';
import type { CoreAgent } from '../../services/agentd/core-agent.ts';
import { openServices } from '../../services/agentd/main.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { makeReviewWorld } from '../fixtures/review/review-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { until } from '../fixtures/until.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed, expectVerified, statesOf } from '../fixtures/world/place.ts';
import { anotherHome, everybody, makeWorld, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

type Params = t.TypeOf<typeof CommitCodec>;

const allSucceeded = Object.fromEntries(actionKinds.map((kind) => [kind, 'succeeded']));

async function ask({ url, token }: TestDaemon, path: string, body: unknown = {}): Promise<number> {
  const response = await fetch(`${url}/v1/runs/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.status;
}

function ended(agent: CoreAgent, { run_id }: Run, status: Run['status']): Promise<Run> {
  return until(`${status}`, async () => {
    const run = await agent.run(run_id);
    return run.status === status ? run : null;
  });
}

async function expectPublished(world: World, run: Run, planned: Run): Promise<string> {
  expect(statesOf(run)).to.deep.equal(allSucceeded);
  expect(run.actions.map(({ definition }) => definition.digest)).to.deep.equal(
    planned.actions.map(({ definition }) => definition.digest),
  );
  const { branch, tree } = run.plan!.target;
  const commit = world.remote.git('rev-parse', `refs/heads/${branch}`);
  expect(world.remote.git('rev-parse', `${commit}^{tree}`)).to.equal(tree);
  const pulls = (await world.forgeAdmin.listPullRequests(ref, 'all')).filter(({ head }) => head === branch);
  expect(pulls.map(({ head_commit, state }) => [head_commit, state])).to.deep.equal([[commit, 'open']]);
  expect(comments(world, run)).to.equal(1);
  expect(world.checkout.git('for-each-ref', `refs/heads/${branch}`)).to.equal('');
  await expectVerified(world, run);
  return commit;
}

function comments(world: World, { request }: Run): number {
  const folder = join(world.remote.gitDir, '../comments', String(request.number));
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')).length : 0;
}

for (const vcs of ['git', 'jj'] as const) {
  describeWith([vcs], `core-agentd without a working copy, with ${vcs}`, () => {
    let world: World;
    let daemon: TestDaemon;

    before(async () => {
      world = await makeWorld({ vcs });
      allowUnsandboxed(world);
      daemon = await startDaemon(world, ['read', 'plan', 'approve', 'execute']);
    });
    after(async () => {
      await daemon?.close();
      await world?.close();
    });

    it('pushes, opens the pull request and comments from its own clone, and takes all of it back', async () => {
      const planned = await world.plannedAndApproved();
      expect(await ask(daemon, `${planned.run_id}/execute`)).to.equal(202);
      const done = await ended(world.agent, planned, 'completed');
      await expectPublished(world, done, planned);
      const commit = done.actions.find(({ definition }) => definition.kind === 'commit')!;
      expect(commit.outcome).to.deep.include({
        facts: { ...commit.outcome!.facts, delivered_ref: null, repo_dir: null },
      });
      expect(commit.outcome!.message).to.contain('in no checkout');

      expect(await ask(daemon, `${planned.run_id}/undo`)).to.equal(202);
      await ended(world.agent, planned, 'undone');
      const { branch } = planned.plan!.target;
      expect(world.remote.git('for-each-ref', `refs/heads/${branch}`)).to.equal('');
      expect(comments(world, planned)).to.equal(0);
    });

    it('does so on the command line where that says --no-repo-dir', async () => {
      const planned = await world.plannedAndApproved();
      const args = ['execute-approved', '--run-id', planned.run_id];
      const refused = await world.command(args);
      expect(refused.stderr).to.contain('[repo_dir_required]').and.to.contain('--no-repo-dir');
      expect(refused.code).to.equal(3);
      const executed = await world.command([...args, '--no-repo-dir']);
      expect(executed.code, executed.stderr).to.equal(0);
      await expectPublished(world, await world.agent.run(planned.run_id), planned);
    });
  });
}

describeWith(['git'], 'an execution that goes on', () => {
  let world: World;
  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });
  after(() => world?.close());

  it('takes no silence for no working copy, once the commit was approved', async () => {
    const planned = await world.plannedAndApproved();
    const { run_id } = planned;
    const { action_id, digest } = commitOf(planned).definition;
    const rejection = { run_id, decision: 'reject', actions: [{ action_id, digest }] } as const;
    await world.agent.decide({ ...rejection, reason: 'no', claimed_approver: null, by: everybody });
    const args = ['execute-approved', '--run-id', run_id];
    const killed = await world.command(args, { CORE_CRASH_AT: 'execute.effect.create_branch' });
    expect(killed.signal, killed.stderr).to.equal('SIGKILL');
    await world.approve(await world.agent.run(run_id), ['commit']);
    const refused = await world.command(['resume', run_id]);
    expect(refused.code).to.equal(3);
    expect(refused.stderr).to.contain('[repo_dir_required]').and.to.contain('--no-repo-dir');
    const now = await world.agent.run(run_id);
    expect(commitOf(now).intent).to.equal(null);
    const [next] = nextSteps(now, { program: 'core', home: undefined }, new Date());
    expect(next!.command).to.match(/^core execute-approved --run-id \S+$/);

    const executed = await world.command([...args, '--repo-dir', world.checkout.dir]);
    expect(executed.code, executed.stderr).to.equal(0);
    expect(world.checkout.git('rev-parse', planned.plan!.target.branch!)).to.match(/^[0-9a-f]{40}$/);
  });

  it('delivers into no folder that was named on another host alone', async () => {
    const planned = await world.plannedAndApproved();
    const { run_id } = planned;
    const { dir } = world.checkout;
    const killed = await world.command(['execute-approved', '--run-id', run_id, '--repo-dir', dir], {
      CORE_CRASH_AT: 'execute.effect.apply_patch',
    });
    expect(killed.signal, killed.stderr).to.equal('SIGKILL');
    const store = runStoreIn(join(world.home, 'state'));
    await store.append(run_id, ({ execution }) => {
      const { finished: _, message: __, ...data } = execution!;
      const checkout = { host: 'two.example', dir, repository: 'another' };
      return [{ type: 'execution_started', data: { ...data, checkout } }];
    });
    const refused = await world.command(['resume', run_id]);
    expect(refused.code).to.equal(3);
    expect(refused.stderr).to.contain('[checkout_elsewhere]').and.to.contain(`${dir} on two.example`);
    expect(world.checkout.git('for-each-ref', `refs/heads/${planned.plan!.target.branch}`)).to.equal('');

    configure(world, { agentd: { checkouts: { hello: dir } } });
    const resumed = await world.command(['resume', run_id]);
    expect(resumed.code, resumed.stderr).to.equal(0);
    expect(world.checkout.git('rev-parse', planned.plan!.target.branch!)).to.match(/^[0-9a-f]{40}$/);
  });
});

function commitOf({ actions }: Run): Run['actions'][number] {
  return actions.find(({ definition }) => definition.kind === 'commit')!;
}

function configure({ home }: World, change: object): void {
  const path = join(home, 'config/core.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }));
}

describeWith(['git'], 'the review page of a core-agentd without a working copy', () => {
  it('says where the change goes before it is approved, and executes without asking for a folder', async () => {
    const review = await makeReviewWorld(undefined, { agentd: { checkouts: {} } });
    try {
      const mira = await SignedIn.by(await review.link('mira'));
      const csrf = await mira.csrf();
      const planned = await review.planned();
      const path = `/runs/${planned.run_id}`;
      const shown = async () => (await mira.get(path)).text();
      expect(await shown()).to.contain('no working copy: core-agentd has none of this repository here');
      const seen = planned.actions.map(
        ({ definition: { action_id, digest } }) => `${action_id} ${digest} required`,
      );
      await mira.post(`${path}/decisions`, { csrf, decision: 'approve', seen, word: 'approve' });
      const page = await shown();
      expect(page).to.contain('to the forge alone: no working copy here');
      expect(page).not.to.contain('name="checkout"');
      expect((await mira.post(`${path}/execute`, { csrf })).status).to.equal(303);
      await expectPublished(review.world, await ended(review.world.agent, planned, 'completed'), planned);
    } finally {
      await review.close();
    }
  });

  for (const { here, checkouts } of [
    { here: 'no', checkouts: {} },
    { here: 'a', checkouts: undefined },
  ]) {
    it(`promises nothing that a plan of an older version refuses, where there is ${here} working copy`, async () => {
      const { propose } = commit;
      const review = await makeReviewWorld(
        undefined,
        checkouts === undefined ? {} : { agentd: { checkouts } },
      );
      try {
        const mira = await SignedIn.by(await review.link('mira'));
        const csrf = await mira.csrf();
        commit.propose = (plan) => {
          const proposed = propose.call(commit, plan);
          const { deliver_when: _, ...params } = proposed!.params as Params;
          return { ...proposed!, params: params as Params, rationale: 'As it was.' };
        };
        const planned = await review.planned();
        commit.propose = propose;
        const { run_id } = await review.world.approve(planned);
        const page = await (await mira.get(`/runs/${run_id}`)).text();
        expect(page).not.to.contain('forge alone');
        expect(page).to.contain(
          checkouts === undefined ? 'name="checkout"' : 'its execution is refused, until one is named',
        );
        const refused = await mira.post(`/runs/${run_id}/execute`, { csrf, checkout: '' });
        expect(refused.status).to.equal(422);
        expect(await refused.text()).to.contain('was planned by an older version of Core');
        const silent = await review.world.command(['execute-approved', '--run-id', run_id]);
        expect(silent.stderr).to.contain('planned by an older version').and.not.to.contain('--no-repo-dir');
      } finally {
        commit.propose = propose;
        await review.close();
      }
    });
  }

  it('shows a run although what agentd.checkouts names is broken', async () => {
    const broken = temporaryFolder();
    mkdirSync(join(broken, '.git'));
    writeFileSync(join(broken, '.git/config'), '[remote\n');
    const file = join(broken, 'file');
    writeFileSync(file, '');
    const review = await makeReviewWorld(undefined, {
      agentd: { checkouts: { file, below: join(file, 'below'), broken, gone: join(broken, 'gone') } },
    });
    try {
      const mira = await SignedIn.by(await review.link('mira'));
      const planned = await review.world.approve(await review.planned());
      const page = await mira.get(`/runs/${planned.run_id}`);
      expect(page.status).to.equal(200);
      expect(await page.text()).to.contain('to the forge alone: no working copy here');
      expect((await mira.get('/plan')).status).to.equal(200);
      const csrf = await mira.csrf();
      const named = await mira.post(`/runs/${planned.run_id}/execute`, { csrf, checkout: 'file' });
      expect(named.status).to.equal(422);
      expect(await named.text()).to.contain('is not a git repository');
    } finally {
      await review.close();
    }
  });

  it('lets people choose none where there is one, and takes no silence for it', async () => {
    const review = await makeReviewWorld();
    try {
      const mira = await SignedIn.by(await review.link('mira'));
      const csrf = await mira.csrf();
      const planned = await review.world.approve(await review.planned());
      const path = `/runs/${planned.run_id}`;
      expect(await (await mira.get(path)).text()).to.contain('no working copy, the forge alone');
      const silent = await mira.post(`${path}/execute`, { csrf });
      expect(silent.status).to.equal(422);
      expect(await silent.text()).to.contain('can be delivered to a checkout here');
      expect((await mira.post(`${path}/execute`, { csrf, checkout: '' })).status).to.equal(303);
      await expectPublished(review.world, await ended(review.world.agent, planned, 'completed'), planned);
    } finally {
      await review.close();
    }
  });
});

describeWith(['git', 'postgres'], 'hosts without a working copy', () => {
  for (const point of ['commit.built', 'execute.intent.push_branch', 'execute.effect.push_branch']) {
    it(`make the same commit when one is killed at ${point} and another goes on from a clone of its own`, async () => {
      const server = await startPostgres();
      const world = await makeWorld({ vcs: 'git', storage: await server.database() });
      allowUnsandboxed(world);
      const home = anotherHome(world);
      const other = await openServices({ home });
      const daemon = await startDaemon({ home, agent: other.agent }, ['read', 'plan', 'approve', 'execute']);
      try {
        const planned = await world.plannedAndApproved();
        const { run_id } = planned;
        const args = ['execute-approved', '--run-id', run_id, '--no-repo-dir'];
        const { signal, stderr } = await world.command(args, { CORE_CRASH_AT: point });
        expect(signal, stderr).to.equal('SIGKILL');
        const { clone_dir } = (await other.agent.run(run_id)).workspace!;
        const first = execFileSync(
          'git',
          ['-C', clone_dir, 'rev-parse', `refs/heads/${planned.plan!.target.branch}`],
          { encoding: 'utf8' },
        ).trim();
        expect(existsSync(join(home, 'state/clones'))).to.equal(false);

        expect(await ask(daemon, `${run_id}/resume`)).to.equal(202);
        const done = await ended(other.agent, planned, 'completed');
        expect(await expectPublished(world, done, planned)).to.equal(first);
      } finally {
        await daemon.close();
        await other.close();
        await world.close();
        await server.stop();
      }
    });
  }
});
