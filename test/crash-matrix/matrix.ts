import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { StorageKind } from '#kit/config/storage.ts';
import { actionKinds } from '../../services/agentd/action.ts';
import type { CoreAgent } from '../../services/agentd/core-agent.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { startPostgres } from '../fixtures/postgres.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import {
  everybody,
  greetPatch,
  makeWorld,
  quiet,
  ref,
  secondHost,
  type World,
  widePatch,
} from '../fixtures/world/world.ts';
import { describeWith, type NeedName } from '../needs.ts';
import { executePoints, isKilledHere, planPoints, secondPlanPoints, undoPoints } from './points.ts';
import { vcsCrashPoints } from './vcs-points.ts';

/** Kills at every point that planning, executing and undoing pass, and resumes. `npm test` takes one point of each family. */
export function crashMatrix(vcs: 'git' | 'jj', storage: StorageKind = 'files'): void {
  const needs: NeedName[] = storage === 'postgres' ? [vcs, 'postgres'] : [vcs];
  describeWith(needs, `the crash matrix with ${vcs} and ${storage}`, () => {
    let world: World;
    /** Who goes on: another host, where hosts share the runs. */
    let agent: CoreAgent;
    let closing: (() => Promise<void>)[];

    before(async () => {
      closing = [];
      if (storage === 'files') {
        world = await makeWorld({ vcs });
        agent = world.agent;
        allowUnsandboxed(world);
      } else {
        const server = await startPostgres();
        world = await makeWorld({ vcs, storage: await server.database() });
        allowUnsandboxed(world);
        const other = await secondHost(world);
        agent = other.agent;
        closing.push(
          () => other.close(),
          () => server.stop(),
        );
      }
      closing.unshift(() => world.close());
    });
    after(async () => {
      for (const close of closing) await close();
    });

    for (const point of planPoints.filter(isKilledHere)) {
      it(`goes on planning after a kill at ${point}`, async () => {
        const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
        await killed(
          world,
          ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number)],
          point,
        );
        const [found, ...others] = (await world.agent.runs({ limit: 10, ...ref, number })).runs;
        expect(others).to.deep.equal([]);
        if (found!.status === 'interrupted')
          await agent.resume({ run_id: found!.run_id, by: everybody }, quiet);
        const run = await world.agent.run(found!.run_id);
        expect(run.status).to.equal('awaiting_approval');
        expect(run.actions).to.have.length(7);
        await expectIntact(world, run);
        expect(
          world.remote.git('for-each-ref', '--format=%(refname)', `refs/heads/${run.plan!.target.branch}`),
        ).to.equal('');
      });
    }

    for (const point of secondPlanPoints.filter(isKilledHere)) {
      it(`takes the place of earlier runs across a kill at ${point}`, async () => {
        const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
        const request = { ...ref, number, by: everybody };
        const earlier = [
          await world.agent.planIssue({ ...request, keep: true }, quiet),
          await world.agent.planIssue({ ...request, keep: true }, quiet),
        ];
        await killed(
          world,
          ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number)],
          point,
        );
        const [found] = (await world.agent.runs({ limit: 10, ...ref, number })).runs;
        if (found!.status === 'interrupted')
          await agent.resume({ run_id: found!.run_id, by: everybody }, quiet);
        const run = await world.agent.run(found!.run_id);
        expect(run.status).to.equal('awaiting_approval');
        expect(run.plan!.supersedes).to.have.members(earlier.map(({ run_id }) => run_id));
        await expectIntact(world, run);
        for (const { run_id } of earlier) {
          const now = await world.agent.runWithBase(run_id);
          expect(now).to.include({ status: 'superseded', superseded_by: run.run_id });
          const events = await world.agent.events(run_id, 0);
          expect(events.filter(({ type }) => type === 'run_superseded')).to.have.length(1);
          await expectIntact(world, now);
        }
      });
    }

    const whileExecuting = [...executePoints, ...vcsCrashPoints[vcs].filter((name) => !undoes(name))];
    for (const point of whileExecuting.filter(isKilledHere)) {
      it(`executes exactly once across a kill at ${point}`, async () => {
        const run = await world.plannedAndApproved(point === 'vcs.jj.files_tracked' ? widePatch : greetPatch);
        await killed(world, executing(world, run), point);
        expect((await world.agent.run(run.run_id)).status).to.equal('interrupted');
        await agent.resume({ run_id: run.run_id, by: everybody }, quiet);
        await expectExecutedOnce(world, await world.agent.run(run.run_id), run);
      });
    }

    const whileUndoing = [...undoPoints, ...vcsCrashPoints[vcs].filter(undoes)];
    for (const point of whileUndoing.filter(isKilledHere)) {
      it(`undoes everything across a kill at ${point}`, async () => {
        const run = await world.plannedAndApproved();
        const { run_id } = run;
        const { dir } = world.checkout;
        await world.agent.execute(
          { run_id, repo_dir: dir, actions: null, dry_run: false, by: everybody },
          quiet,
        );
        await killed(world, ['undo', run_id], point);
        await agent.resume({ run_id, by: everybody }, quiet);
        await expectUndone(world, await world.agent.run(run_id), run.request.number!);
      });
    }

    for (const kind of actionKinds.filter((kind) => isKilledHere(`execute.effect.${kind}`))) {
      it(`executes exactly once when the resuming is killed as well, after the reconciliation of ${kind}`, async () => {
        const run = await world.plannedAndApproved();
        await killed(world, executing(world, run), `execute.effect.${kind}`);
        await killed(world, ['resume', run.run_id], `execute.reconciled.${kind}`);
        await agent.resume({ run_id: run.run_id, by: everybody }, quiet);
        await expectExecutedOnce(world, await world.agent.run(run.run_id), run);
      });
    }

    it('rebuilds a clone and a mirror that were deleted in the middle', async () => {
      const run = await world.plannedAndApproved();
      await killed(world, executing(world, run), 'execute.intent.commit');
      rmSync(join(world.home, 'state/clones'), { recursive: true });
      rmSync(join(world.home, 'state/mirrors'), { recursive: true });
      await agent.resume({ run_id: run.run_id, by: everybody }, quiet);
      await expectExecutedOnce(world, await world.agent.run(run.run_id), run);
    });
  });
}

/** The places of a VCS adapter that only undoing passes. */
function undoes(point: string): boolean {
  return /restore|unpublish/.test(point);
}

function executing(world: World, run: Run): string[] {
  return ['execute-approved', '--repo-dir', world.checkout.dir, '--run-id', run.run_id];
}

async function killed(world: World, args: readonly string[], point: string): Promise<void> {
  const { signal, stdout, stderr } = await world.command(args, { CORE_CRASH_AT: point });
  expect(signal, `${point} was not reached\n${stdout}\n${stderr}`).to.equal('SIGKILL');
}

async function expectIntact(world: World, run: Run): Promise<void> {
  const { problems } = await world.agent.verify(run.run_id);
  expect(problems).to.deep.equal([]);
}

async function expectExecutedOnce(world: World, run: Run, planned: Run): Promise<void> {
  expect(
    run.actions.map(
      ({ definition, state, outcome }) =>
        `${definition.kind} ${state} ${state === 'succeeded' ? '' : outcome?.message}`,
    ),
  ).to.deep.equal(actionKinds.map((kind) => `${kind} succeeded `));
  expect(run.status).to.equal('completed');
  expect(run.actions.map(({ decision }) => decision)).to.deep.equal(
    planned.actions.map(({ decision }) => decision),
  );
  const { branch, tree } = run.plan!.target;
  const refname = `refs/heads/${branch}`;
  const commit = world.remote.git('rev-parse', refname);
  expect(world.remote.git('rev-parse', `${refname}^{tree}`)).to.equal(tree);
  expect(world.checkout.git('rev-parse', refname)).to.equal(commit);
  const pushes = readFileSync(join(world.remote.gitDir, 'logs', refname), 'utf8')
    .trim()
    .split('\n');
  expect(pushes, 'pushes').to.have.length(1);
  const { number } = run.request;
  const pulls = (await world.forgeAdmin.listPullRequests(ref, 'all')).filter(({ head }) => head === branch);
  expect(pulls, 'pull requests').to.have.length(1);
  expect(pulls[0]!.head_commit).to.equal(commit);
  expect(commentsOn(world, number!), 'comments').to.have.length(1);
  await expectIntact(world, run);
}

async function expectUndone(world: World, run: Run, number: number): Promise<void> {
  expect(run.status, JSON.stringify(run.undo)).to.equal('undone');
  const { branch } = run.plan!.target;
  expect(world.remote.git('for-each-ref', '--format=%(refname)', `refs/heads/${branch}`)).to.equal('');
  expect(world.checkout.git('for-each-ref', '--format=%(refname)', `refs/heads/${branch}`)).to.equal('');
  const pulls = (await world.forgeAdmin.listPullRequests(ref, 'all')).filter(({ head }) => head === branch);
  expect(pulls.map(({ state }) => state)).to.deep.equal(['closed']);
  expect(commentsOn(world, number)).to.deep.equal([]);
  await expectIntact(world, run);
}

function commentsOn(world: World, number: number): string[] {
  const folder = join(world.remote.gitDir, '../comments', String(number));
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}
