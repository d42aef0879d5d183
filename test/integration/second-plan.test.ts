import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { CoreError, codeOf } from '#kit/errors.ts';
import type { PlanRequest, ProgressUpdate } from '../../services/agentd/agent.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { secondPlanPoints } from '../crash-matrix/points.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type ForgeWorld, forgeWorlds } from '../fixtures/world/forge-worlds.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const body = `It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;

describe('a second plan for an issue', () => {
  let world: World;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });

  after(() => world?.close());

  const plan = (number: number, request: Partial<PlanRequest> = {}): Promise<Run> =>
    world.agent.planIssue({ ...ref, number, by: everybody, ...request }, quiet);
  const now = ({ run_id }: Run): Promise<Run> => world.agent.run(run_id);
  const execute = ({ run_id }: Run): Promise<Run> =>
    world.agent.execute(
      { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );

  /** A planning that is killed there; its run. */
  async function cutOff(number: number, point: string): Promise<string> {
    const { signal } = await world.command(
      ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number)],
      { CORE_CRASH_AT: point },
    );
    expect(signal).to.equal('SIGKILL');
    const [run] = (await world.agent.runs({ ...ref, number, limit: 1 })).runs;
    return run!.run_id;
  }

  describe('after one was rejected', () => {
    const reject = async (run: Run, kinds: readonly string[], reason: string) => {
      const actions = run.actions
        .map(({ definition }) => definition)
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ action_id, digest }) => ({ action_id, digest }));
      const decision = { decision: 'reject' as const, claimed_approver: null, by: everybody };
      return world.agent.decide({ run_id: run.run_id, actions, reason, ...decision });
    };
    const rejectedIn = ({ actions }: Run) =>
      actions.flatMap(({ definition }) =>
        (definition.rejected_before ?? []).map(({ reason }) => `${definition.kind}: ${reason}`),
      );
    const patchOf = ({ actions }: Run) =>
      actions.find(({ definition }) => definition.kind === 'apply_patch')!.definition;

    it('says at each action why such a one was rejected, by whom and when', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      await reject(first, ['push_branch', 'open_pull_request'], 'not before the release');
      const second = await plan(number);
      expect(rejectedIn(second)).to.deep.equal([
        'push_branch: not before the release',
        'open_pull_request: not before the release',
      ]);
      const { stdout } = await world.command(['actions', second.run_id]);
      const lines = stdout.split('\n');
      const at = lines.findIndex((line) => line.includes('rejected before: not before the release (by '));
      expect(lines[at - 1]).to.match(/6 {2}open_pull_request/);
      expect(lines[at]).to.match(/^ +5, 6 {2}rejected before: .* \(by \S+, \d{4}-\d\d-\d\d \d\d:\d\d\)$/);
      expect((await world.agent.verify(second.run_id)).problems).to.deep.equal([]);
    });

    it('says so and is at higher risk where it is byte for byte the same, and not where it is another', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      const rejected = await reject(first, ['apply_patch'], 'wrong greeting');
      const at = rejected.actions.find(({ approval }) => approval === 'rejected')!.decision!.at;
      const same = await plan(number);
      const said = `byte for byte what ${everybody.name} rejected at ${at.slice(0, 16).replace('T', ' ')}`;
      expect(same.plan!.notices).to.include(`${said}: wrong greeting`);
      expect(patchOf(same).risk_reasons).to.include(said);
      expect(patchOf(same).risk_score).to.be.greaterThan(patchOf(first).risk_score);

      const other = body.replace("'stranger'", "'nobody'");
      await world.forgeAdmin.comment({
        ...{ ...ref, number, body: other.slice(other.indexOf('```')) },
        ...{ author: 'mira', association: 'member' },
      });
      const different = await plan(number);
      expect(different.plan!.patch).to.not.equal(first.plan!.patch);
      expect(same.plan!.patch).to.equal(first.plan!.patch);
      expect(different.plan!.notices.join()).to.not.contain('byte for byte');
      expect(patchOf(different).risk_score).to.be.below(patchOf(same).risk_score);
      expect(rejectedIn(different)).to.deep.equal(['apply_patch: wrong greeting']);
    });

    it('says so of a comment that was rejected', async () => {
      const number = await world.newIssue('What is this?');
      const first = await plan(number);
      await reject(first, ['comment_issue'], 'ask nothing');
      const second = await plan(number);
      expect(second.plan!.notices[0]).to.contain('byte for byte what').and.to.contain('ask nothing');
      expect(second.actions[0]!.definition.risk).to.equal('high');
      expect(first.actions[0]!.definition.risk).to.equal('low');
    });

    it('is the same change all the same where only the comment on the issue was rejected', async () => {
      const number = await world.newIssue(body);
      await reject(await plan(number), ['comment_issue'], 'no noise');
      const second = await plan(number);
      expect(second.plan!.notices.join()).to.not.contain('byte for byte');
      expect(rejectedIn(second)).to.deep.equal(['comment_issue: no noise']);
    });
  });

  describe('while earlier runs wait', () => {
    it('takes their place, with one event in each that names it', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number, { keep: true });
      const second = await plan(number, { keep: true });
      const third = await plan(number);
      for (const earlier of [first, second]) {
        const after = await now(earlier);
        expect(after).to.include({ status: 'superseded', superseded_by: third.run_id });
        const events = (await world.agent.events(earlier.run_id, 0)).filter(
          ({ type }) => type === 'run_superseded',
        );
        expect(events.map(({ data }) => data)).to.deep.equal([{ by_run: third.run_id }]);
        expect((await world.agent.verify(earlier.run_id)).problems).to.deep.equal([]);
      }
      expect(third.status).to.equal('awaiting_approval');
      expect(third.plan!.supersedes).to.have.members([first.run_id, second.run_id]);
      expect(third.plan!.notices.join('\n')).to.match(/takes the place of run_.*, run_/);
    });

    it('leaves nothing of them to approve, reject, execute or cancel, and the refusal names it', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      const second = await plan(number);
      const { action_id, digest } = first.actions[0]!.definition;
      const reject = {
        run_id: first.run_id,
        decision: 'reject' as const,
        actions: [{ action_id, digest }],
        reason: 'no',
        claimed_approver: null,
        by: everybody,
      };
      for (const work of [world.approve(first), world.agent.decide(reject), execute(first)]) {
        const error = await refusal(work);
        expect(error).to.include({ code: 'run_superseded', exitCode: 3, status: 409 });
        expect(error.message).to.contain(second.run_id);
      }
      const cancelling = world.agent.cancel({ run_id: first.run_id, by: everybody, reason: null });
      expect((await refusal(cancelling)).code).to.equal('run_closed');
    });

    it('leaves them as they are with --keep, and names them', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      const kept = await world.command([
        ...['plan-issue', '--owner', ref.owner, '--repo', ref.repo],
        ...['--number', String(number), '--keep'],
      ]);
      expect(kept.stdout).to.contain(`run ${first.run_id} of this issue still waits for a decision too`);
      expect((await now(first)).status).to.equal('awaiting_approval');
      expect((await world.approve(await now(first))).actions[0]!.approval).to.equal('approved');
    });

    it('is shown by runs, show and the list over HTTP', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      const second = await plan(number);
      const shown = await world.command(['show', first.run_id]);
      expect(shown.stdout).to.contain(`superseded by ${second.run_id}`);
      expect(shown.stdout).to.contain(`show ${second.run_id.slice(0, 17)}`);
      const listed = await world.command(['runs', '--status', 'superseded', '--number', String(number)]);
      expect(listed.stdout).to.contain(first.run_id.slice(0, 17)).and.to.contain('superseded');
      const { runs } = await world.agent.runs({ ...ref, number, limit: 10 });
      expect(runs.map(({ run_id, status, waiting }) => [run_id, status, waiting])).to.deep.equal([
        [second.run_id, 'awaiting_approval', 7],
        [first.run_id, 'superseded', 0],
      ]);
    });

    it('does not take the place of what is approved, or has left something behind, and names it', async () => {
      const number = await world.newIssue(body);
      const approved = await world.approve(await plan(number), ['create_branch']);
      const second = await plan(number);
      expect((await now(approved)).status).to.equal('awaiting_approval');
      expect(second.plan!.notices).to.include(
        `run ${approved.run_id} of this issue is approved; this plan does not replace it`,
      );
      await execute(approved);
      const third = await plan(number);
      expect((await now(approved)).status).to.equal('awaiting_approval');
      expect(third.plan!.notices).to.include(
        `run ${approved.run_id} of this issue is awaiting approval; this plan does not replace it`,
      );
      expect((await now(second)).superseded_by).to.equal(third.run_id);
    });

    it('leaves a plan that waits where the second is a dry run', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      const dryRun = await plan(number, { dry_run: true });
      expect((await now(first)).status).to.equal('awaiting_approval');
      const third = await plan(number);
      expect(third.plan!.supersedes).to.have.members([first.run_id, dryRun.run_id]);
    });

    it('leaves one to decide where several are planned at once, the one that was asked for last', async () => {
      const number = await world.newIssue(body);
      const runs = await Promise.all([plan(number), plan(number), plan(number)]);
      const ids = runs.map(({ run_id }) => run_id).sort();
      const after = await Promise.all(runs.map(now));
      const waiting = after.filter(({ status }) => status === 'awaiting_approval');
      expect(waiting.map(({ run_id }) => run_id)).to.deep.equal([ids.at(-1)]);
      expect(after.filter(({ status }) => status === 'superseded')).to.have.length(2);
    });

    it('gives way to a newer one when it was cut off and goes on later', async () => {
      const number = await world.newIssue(body);
      const first = await cutOff(number, 'plan.source_read');
      const second = await plan(number);
      const resumed = await world.agent.resume({ run_id: first, by: everybody }, quiet);
      expect(resumed).to.include({ status: 'superseded', superseded_by: second.run_id });
      expect((await now(second)).status).to.equal('awaiting_approval');
      expect((await world.agent.verify(resumed.run_id)).problems).to.deep.equal([]);
    });

    it('takes their place when it goes on later, and gives way to none that was asked with --keep', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      const cut = await cutOff(number, 'plan.proposed');
      const kept = await plan(number, { keep: true });
      const resumed = await world.agent.resume({ run_id: cut, by: everybody }, quiet);
      expect(resumed).to.include({ status: 'awaiting_approval', superseded_by: null });
      expect((await now(kept)).status).to.equal('awaiting_approval');
      expect(await now(first)).to.include({ status: 'superseded', superseded_by: resumed.run_id });
    });

    it('takes the place of none where it gives way itself', async () => {
      const number = await world.newIssue(body);
      const first = await world.approve(await plan(number), ['create_branch']);
      const cut = await cutOff(number, 'plan.proposed');
      const newer = await plan(number);
      const { action_id, digest } = first.actions[0]!.definition;
      await world.agent.decide({
        run_id: first.run_id,
        decision: 'reject',
        actions: [{ action_id, digest }],
        reason: 'not this branch',
        claimed_approver: null,
        by: everybody,
      });
      const resumed = await world.agent.resume({ run_id: cut, by: everybody }, quiet);
      expect(resumed).to.include({ status: 'superseded', superseded_by: newer.run_id });
      expect((await now(first)).status).to.equal('rejected');
    });

    for (const point of secondPlanPoints) {
      it(`takes the place of two by a sealed plan alone, when it is killed at ${point} and cancelled`, async () => {
        const number = await world.newIssue(body);
        const earlier = [await plan(number, { keep: true }), await plan(number, { keep: true })];
        const cut = await cutOff(number, point);
        const cancelled = await world.agent.cancel({ run_id: cut, by: everybody, reason: null });
        expect(cancelled.status).to.equal('cancelled');
        for (const run of earlier) {
          if (cancelled.plan === null)
            expect((await world.approve(run)).status).to.equal('awaiting_approval');
          else expect((await refusal(world.approve(run))).facts).to.include({ superseded_by: cut });
          expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
        }
      });
    }

    it('has taken their place once it is sealed, for whoever executes, shows or plans after a kill', async () => {
      const number = await world.newIssue(body);
      const earlier: Run[] = [];
      for (const _ of ['executed', 'shown', 'planned']) earlier.push(await plan(number, { keep: true }));
      const [executed, shown, planned] = earlier as [Run, Run, Run];
      const cut = await cutOff(number, 'plan.sealed');
      expect((await refusal(execute(executed))).code).to.equal('run_superseded');
      expect((await world.command(['show', shown.run_id])).stdout).to.contain(`superseded by ${cut}`);
      const next = await plan(number);
      expect(next.plan!.supersedes).to.deep.equal([cut]);
      expect((await now(planned)).superseded_by).to.equal(cut);
    });

    it('changes nothing of them where its own planning fails', async () => {
      const number = await world.newIssue(body);
      const first = await plan(number);
      const failed = await plan(number, { planner: 'model' }).then(
        () => null,
        (error: unknown) => codeOf(error),
      );
      expect(failed).to.be.a('string');
      expect((await now(first)).status).to.equal('awaiting_approval');
    });
  });
});

for (const [kind, open] of Object.entries(forgeWorlds)) {
  describeWith(kind === 'local' ? [] : ['time'], `planning on ${kind}, before it proposes anything`, () => {
    let forge: ForgeWorld;
    let world: World;

    before(async () => {
      forge = await open();
      world = forge.world;
    });

    afterEach(() => {
      expect(forge.violations()).to.deep.equal([]);
    });

    after(() => forge?.close());

    const plan = (number: number, request: Partial<PlanRequest> = {}): Promise<Run> =>
      world.agent.planIssue({ ...ref, number, by: everybody, ...request }, quiet);

    async function published(number: number): Promise<{ run: Run; pull: number; url: unknown }> {
      const { run_id } = await world.approve(await plan(number));
      const run = await world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        quiet,
      );
      const opened = run.actions.find(({ definition }) => definition.kind === 'open_pull_request');
      const { number: pull, url } = opened!.outcome!.facts;
      return { run, pull: Number(pull), url };
    }

    // On the local forge it is whoever runs Core.
    if (kind !== 'local') {
      it('says before an approval that the account of the token could not push, in the plan and in show', async () => {
        const number = await forge.newIssue(body);
        const silent = await plan(number);
        expect(silent.plan!.notices.join('\n')).to.not.contain('pushed');
        const all = forge.served!.collaborators.splice(0);
        const run = await plan(number);
        forge.served!.collaborators.push(...all);
        const notice = run.plan!.notices.find((text) => text.includes('cannot be pushed to demo/hello'));
        expect(notice).to.contain('may not write there');
        const shown = await world.command(['show', run.run_id]);
        expect(shown.stdout).to.contain('cannot be pushed to demo/hello');
        const comment = await plan(await forge.newIssue('What is this?'));
        expect(comment.plan!.notices.join('\n')).to.not.contain('pushed');
      });
    }

    it('names an open pull request of ours, before it proposes another', async () => {
      const number = await forge.newIssue(body);
      const { run, pull, url } = await published(number);
      const said: string[] = [];
      const watch = { ...quiet, progress: ({ message }: { message: string }) => void said.push(message) };
      const second = await world.agent.planIssue({ ...ref, number, by: everybody }, watch);
      const notice = second.plan!.notices.find((text) => text.includes('is open for this issue'));
      expect(notice).to.contain(`pull request #${pull} `).and.to.contain(run.run_id);
      if (typeof url === 'string') expect(notice).to.contain(url);
      const shown = await world.command(['show', second.run_id]);
      expect(shown.stdout).to.contain(`pull request #${pull} `);
      expect(said).to.include(notice);
      expect(said.indexOf(notice!)).to.be.below(said.findIndex((text) => /planner is at work/.test(text)));
    });

    it('proposes nothing for an issue that a merged pull request of ours fixed, and says so, unless --anyway', async () => {
      const number = await forge.newIssue(body);
      const { run, pull } = await published(number);
      await forge.mergePullRequest(pull);
      const error = await refusal(plan(number));
      expect(error).to.include({ code: 'issue_fixed', exitCode: 3, status: 422 });
      expect(error.message).to.contain(`pull request #${pull} `).and.to.contain(run.run_id);
      const [failed] = (await world.agent.runs({ ...ref, number, limit: 10 })).runs;
      expect(failed).to.include({ status: 'failed', actions: 0 });
      const anyway = await world.command([
        ...['plan-issue', '--owner', ref.owner, '--repo', ref.repo],
        ...['--number', String(number), '--anyway'],
      ]);
      expect(anyway.stdout + anyway.stderr).to.contain('is fixed: pull request');
    });

    it('proposes nothing for an issue that is closed, and says so, unless --anyway', async () => {
      const number = await forge.newIssue(body);
      const waiting = await plan(number);
      await forge.closeIssue(number);
      const error = await refusal(plan(number));
      expect(error).to.include({ code: 'issue_closed', exitCode: 3, status: 422 });
      expect(error.hint).to.contain('--anyway');
      expect((await world.agent.run(waiting.run_id)).status).to.equal('awaiting_approval');
      const anyway = await plan(number, { anyway: true });
      expect(anyway.status).to.equal('awaiting_approval');
      expect(anyway.plan!.notices.join('\n')).to.contain('is closed; planned all the same');
    });

    it('sees that the issue was closed while the planning was cut off', async () => {
      const number = await forge.newIssue(body);
      const cut = await world.command(
        ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number)],
        { CORE_CRASH_AT: 'plan.source_read' },
      );
      expect(cut.signal).to.equal('SIGKILL');
      await forge.closeIssue(number);
      const [found] = (await world.agent.runs({ ...ref, number, limit: 1 })).runs;
      expect(
        (await refusal(world.agent.resume({ run_id: found!.run_id, by: everybody }, quiet))).code,
      ).to.equal('issue_closed');
    });
  });
}

async function refusal(work: Promise<unknown>): Promise<CoreError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof CoreError) return error;
  throw new Error('it was not refused', { cause: error });
}

describe('a base that moved since the plan was made', () => {
  let world: World;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });

  afterEach(() => world?.close());

  async function planned(): Promise<Run> {
    const number = await world.newIssue(body);
    return world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
  }

  /** As somebody else pushes to it. */
  function move(files: Readonly<Record<string, string>>): void {
    commitOnMain(world.remote.gitDir, files);
  }

  const execute = (run: Run) =>
    world.command(['execute-approved', '--run-id', run.run_id, '--repo-dir', world.checkout.dir]);

  it('in the same file is reported by show before anything is approved, and a new plan suggested', async () => {
    const run = await planned();
    move({ 'src/greet.js': 'export const greet = () => 1;\n' });
    const shown = await world.command(['show', run.run_id]);
    expect(shown.code).to.equal(0);
    expect(shown.stdout).to.match(/main is at [0-9a-f]{7} by now and changed src\/greet\.js/);
    expect(shown.stdout).to.contain("plan 'demo/hello#");
    const after = await world.agent.run(run.run_id);
    expect(after.base_moved).to.include({ base_branch: 'main' });
    expect(after.base_moved!.files).to.deep.equal(['src/greet.js']);
    await world.command(['show', run.run_id]);
    const events = await world.agent.events(run.run_id, 0);
    expect(events.filter(({ type }) => type === 'base_seen')).to.have.length(1);
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    expect((await world.approve(run)).status).to.equal('awaiting_approval');
    const again = await world.agent.planIssue({ ...ref, number: run.request.number!, by: everybody }, quiet);
    expect(again.plan!.target.base_commit).to.equal(after.base_moved!.commit);
  });

  it('in another file says nothing', async () => {
    const run = await planned();
    move({ 'README.md': '# other\n' });
    const shown = await world.command(['show', run.run_id]);
    expect(shown.stdout).to.not.contain('by now');
    expect((await world.agent.run(run.run_id)).base_moved).to.equal(null);
  });

  it('is reported at the end of the build gate, and by show until it is pushed', async () => {
    const run = await planned();
    const build = run.actions.filter(({ definition }) => definition.gate === 'build');
    await world.approve(
      run,
      build.map(({ definition }) => definition.kind),
    );
    move({ 'src/greet.js': 'export const greet = () => 1;\n' });
    const { stdout, stderr } = await execute(run);
    expect(stdout + stderr).to.match(/main is at [0-9a-f]{7} by now and changed src\/greet\.js/);
    expect((await world.command(['show', run.run_id])).stdout).to.contain('by now');
    await world.approve(await world.agent.run(run.run_id), [
      'push_branch',
      'open_pull_request',
      'comment_issue',
    ]);
    await execute(run);
    const done = await world.agent.run(run.run_id);
    expect(done.status).to.equal('completed');
    expect((await world.command(['show', run.run_id])).stdout).to.not.contain('by now');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
  });

  it('is reported before the push if everything is approved', async () => {
    const run = await world.approve(await planned());
    move({ 'src/greet.js': 'export const greet = () => 1;\n' });
    const said: string[] = [];
    const watch = {
      ...quiet,
      progress: ({ step, state, message }: ProgressUpdate) => void said.push(`${step} ${state} ${message}`),
    };
    await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      watch,
    );
    const warned = said.findIndex((line) => line.startsWith('base info main is at'));
    expect(warned).to.be.above(said.findIndex((line) => line.startsWith('commit succeeded')));
    expect(warned).to.be.below(said.findIndex((line) => line.startsWith('push_branch started')));
  });

  it('does not stop show where it cannot be asked', async () => {
    const run = await planned();
    renameSync(world.remote.gitDir, `${world.remote.gitDir}.away`);
    const shown = await world.command(['show', run.run_id]);
    expect(shown.code).to.equal(0);
    expect(shown.stdout).to.contain(run.run_id);
  });
});

/** One commit on `main` with these files, made in the bare repository. */
function commitOnMain(bare: string, files: Readonly<Record<string, string>>): void {
  const folder = temporaryFolder();
  execFileSync('git', ['clone', '-q', bare, folder]);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  const as = ['-c', 'user.name=mira', '-c', 'user.email=mira@example.org'];
  execFileSync('git', ['-C', folder, ...as, 'commit', '-q', '-a', '-m', 'Meanwhile']);
  execFileSync('git', ['-C', folder, 'push', '-q', 'origin', 'HEAD:main']);
}
