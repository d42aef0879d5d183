import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import type { Fault, ForgeServer } from '../fixtures/forges/forge-server.ts';
import type { ServedRepository } from '../fixtures/forges/forge-state.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { startGitHubServer } from '../fixtures/forges/github-server.ts';
import { tamper } from '../fixtures/runs/tamper.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const comments = /\/issues\/\d+\/comments$/;
const pulls = /\/pulls$/;
const badGateway = { status: 502, body: '<html>' };

/** The reconcile table of the design, against forges that answer wrongly, late or not at all. */
for (const [kind, start] of [
  ['github', startGitHubServer],
  ['gitea', startGiteaServer],
] as const) {
  describeWith(['time'], `unknown outcomes on ${kind}`, () => {
    let server: ForgeServer;
    let world: World;
    let served: ServedRepository;

    beforeEach(async () => {
      server = await start();
      world = await makeWorld({ vcs: 'git' });
      allowUnsandboxed(world);
      const secrets = join(world.home, 'config/secrets');
      mkdirSync(secrets, { recursive: true });
      writeFileSync(join(secrets, 'forge-token'), `${server.state.token}\n`, { mode: 0o600 });
      const settings = {
        name: 'remote',
        kind,
        base_url: server.url,
        clone_base_url: 'file:///',
        token_file: 'forge-token',
        timeout_s: 5,
      };
      const forges = [kind === 'github' ? { ...settings, throttle: false } : settings];
      writeFileSync(join(world.home, 'config/forges.json'), JSON.stringify({ forges }));
      const { state } = server;
      served = state.addRepository({
        ...ref,
        bare: world.remote.dir,
        collaborators: ['mira', state.account],
      });
    });

    afterEach(async () => {
      await world.close();
      await server.close();
      expect(server.state.violations).to.deep.equal([]);
    });

    async function plannedAndApproved(): Promise<Run> {
      const body = `Please:\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
      const issue = server.state.addIssue(served, { title: 'Greeting is wrong', body, author: 'mira' });
      return world.approve(
        await world.agent.planIssue({ ...ref, number: issue.number, by: everybody }, quiet),
      );
    }

    async function executed(...faults: Fault[]): Promise<Run> {
      const { run_id } = await plannedAndApproved();
      server.faults.push(...faults);
      return world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        quiet,
      );
    }

    async function expectOnce(run: Run): Promise<void> {
      expect(run.actions.map(({ state, outcome }) => `${state} ${outcome?.message}`).join('\n')).to.not.match(
        /failed|unknown/,
      );
      expect(run.status).to.equal('completed');
      expect(served.pulls).to.have.length(1);
      expect(served.comments).to.have.length(1);
      expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    }

    it('go through without any, and can be undone', async () => {
      const run = await executed();
      await expectOnce(run);
      const undone = await world.agent.undo({ run_id: run.run_id, by: everybody }, quiet);
      expect(undone.status).to.equal('undone');
      expect(served.pulls[0]!.state).to.equal('closed');
      expect(served.comments).to.deep.equal([]);
    });

    it('find the comment that was made although the answer was 502', async () => {
      const run = await executed({ method: 'POST', path: comments, effect: true, answer: badGateway });
      await expectOnce(run);
    });

    it('comment once more when the comment is absent after the deadline', async () => {
      const run = await executed({ method: 'POST', path: comments, answer: badGateway });
      await expectOnce(run);
      expect(run.actions[6]!.intent!.attempt).to.equal(2);
    });

    it('comment once more only after the same checks: an artifact that is gone by then refuses it', async () => {
      const { run_id } = await plannedAndApproved();
      const remove =
        'DELETE FROM run_artifacts WHERE rowid = (SELECT min(rowid) FROM run_artifacts WHERE run_id = ?)';
      const isPost = (line: string) => line.startsWith('POST') && comments.test(line);
      server.faults.push({ method: 'POST', path: comments, answer: badGateway });
      server.state.requests.push = (...lines: string[]) => {
        if (lines.some(isPost)) tamper(join(world.home, 'state'), remove, run_id);
        return Array.prototype.push.apply(server.state.requests, lines);
      };
      const run = await world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        quiet,
      );
      expect(run.actions[6]).to.deep.include({ state: 'refused' });
      expect(run.actions[6]!.outcome!.code).to.equal('artifact_differs');
      expect(server.state.requests.filter(isPost)).to.have.length(1);
    });

    it('stay unknown after two comments that got lost, and ask the person', async () => {
      const run = await executed({ method: 'POST', path: comments, times: 2, answer: 'reset' });
      expect(run.actions[6]!.state).to.equal('unknown');
      expect(run.actions[6]!.outcome!.message).to.contain('two tries');
      expect(served.comments).to.deep.equal([]);
    });

    it('stay unknown when two comments carry our marker', async () => {
      const { run_id } = await plannedAndApproved();
      const run = await world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        {
          ...quiet,
          progress: ({ step, state }) => {
            if (step !== 'comment_issue' || state !== 'started') return;
            server.faults.push({ method: 'POST', path: comments, effect: true, answer: 'reset' });
          },
        },
      );
      await expectOnce(run);
      const [comment] = served.comments;
      server.state.addComment(served, { issue: comment!.issue, body: comment!.body, author: 'mallory' });
      const undone = await world.agent.undo({ run_id, by: everybody }, quiet);
      expect(undone.status).to.equal('undone');
      expect(
        served.comments.map(({ author }) => author),
        "an outsider's copy of the marker stays",
      ).to.deep.equal(['mallory']);
    });

    it('find the pull request that was opened although nothing was answered', async () => {
      const run = await executed({ method: 'POST', path: pulls, effect: true, answer: 'hang' });
      await expectOnce(run);
    });

    it('open the pull request again when it is not there', async () => {
      const run = await executed({ method: 'POST', path: pulls, answer: 'reset' });
      await expectOnce(run);
    });

    it('leave the rest blocked while the forge is gone, and go on when it is back', async () => {
      const gone: Fault = { path: /./, times: 1000, answer: { status: 503, body: {} } };
      const { run_id } = await plannedAndApproved();
      server.faults.push(gone);
      const options = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
      const first = await world.agent.execute(options, quiet);
      expect(first.status).to.equal('partially_completed');
      expect(first.actions.map(({ state }) => state).slice(0, 4)).to.deep.equal(Array(4).fill('succeeded'));
      expect(served.pulls).to.deep.equal([]);
      server.faults.length = 0;
      await expectOnce(await world.agent.execute(options, quiet));
    });

    it('refuse to comment on an issue that was locked in the meantime', async () => {
      const { run_id } = await plannedAndApproved();
      served.issues[0]!.locked = true;
      const run = await world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        quiet,
      );
      expect(run.actions[6]).to.include({ state: 'refused' });
      expect(run.actions[6]!.outcome!.code).to.equal('issue_locked');
      expect(run.status).to.equal('partially_completed');
    });

    for (const [status, kind, path] of [
      [429, 'comment', comments],
      [503, 'comment', comments],
      [429, 'pull request', pulls],
      [503, 'pull request', pulls],
    ] as const) {
      it(`wait as long as a ${status} says before the ${kind} is sent again`, async () => {
        const { run_id } = await plannedAndApproved();
        const messages: string[] = [];
        const options = {
          run_id,
          repo_dir: world.checkout.dir,
          actions: null,
          dry_run: false,
          by: everybody,
        };
        server.faults.push({ method: 'POST', path, answer: { status, headers: { 'retry-after': '2' } } });
        const times: number[] = [];
        server.state.requests.push = (...lines: string[]) => {
          for (const line of lines) if (line.startsWith('POST') && path.test(line)) times.push(Date.now());
          return Array.prototype.push.apply(server.state.requests, lines);
        };
        await expectOnce(
          await world.agent.execute(options, { ...quiet, progress: ({ message }) => messages.push(message) }),
        );
        expect(times).to.have.length(2);
        expect(times[1]! - times[0]!).to.be.at.least(1_900);
        expect(messages.join('\n')).to.contain('asked to wait');
      });

      // A rate limit refuses before anything is written; a 503 may come after it.
      const undecided = status === 429 ? 'failed' : 'unknown';
      it(`stay ${undecided} with the time to resume at when a ${status} asks to wait longer for the ${kind}`, async () => {
        const { run_id } = await plannedAndApproved();
        const options = {
          run_id,
          repo_dir: world.checkout.dir,
          actions: null,
          dry_run: false,
          by: everybody,
        };
        server.faults.push({ method: 'POST', path, answer: { status, headers: { 'retry-after': '3600' } } });
        const posts = () =>
          server.state.requests.filter((line) => line.startsWith('POST') && path.test(line)).length;
        for (const attempt of ['first', 'resumed at once']) {
          const run = await world.agent.execute(options, quiet);
          const action = run.actions.find(({ state }) => state === undecided)!;
          const resumeAt = String(action.outcome!.facts.resume_at);
          expect(Date.parse(resumeAt) - Date.now(), attempt).to.be.within(3_000_000, 3_600_000);
          expect(action.outcome!.message).to.contain(`resume after ${resumeAt}`);
          expect(posts(), attempt).to.equal(1);
        }
      });
    }

    /** The token file now holds the token of this account. */
    function becomes(account: string): void {
      Object.assign(server.state, { account, token: `token-of-${account}` });
      served.collaborators.push(account);
      writeFileSync(join(world.home, 'config/secrets/forge-token'), server.state.token);
    }

    it('refuse to undo as another account, with both names, and undo when the token is back', async () => {
      const run = await executed();
      const { run_id } = run;
      expect(run.actions[6]!.intent!.account).to.include({ login: 'core-bot' });
      becomes('else-bot');
      const refusal = await world.agent.undo({ run_id, by: everybody }, quiet).catch((error) => error);
      expect(refusal).to.include({ code: 'account_changed', exitCode: 3 });
      expect(refusal.message).to.contain('core-bot').and.contain('else-bot').and.contain('remote');
      expect(served.comments).to.have.length(1);
      expect(served.pulls[0]!.state).to.equal('open');
      becomes('core-bot');
      const undone = await world.agent.undo({ run_id, by: everybody }, quiet);
      expect(undone.status).to.equal('undone');
      expect(served.comments).to.deep.equal([]);
      expect(served.pulls[0]!.state).to.equal('closed');
    });

    it('undo by the recorded numbers after the account has another name', async () => {
      const run = await executed();
      Object.assign(server.state.user('core-bot'), { login: 'renamed-bot' });
      Object.assign(served.comments[0]!, { author: 'renamed-bot' });
      Object.assign(served.pulls[0]!, { author: 'renamed-bot' });
      becomes('renamed-bot');
      const undone = await world.agent.undo({ run_id: run.run_id, by: everybody }, quiet);
      expect(undone.status).to.equal('undone');
      expect(served.comments).to.deep.equal([]);
      expect(served.pulls[0]!.state).to.equal('closed');
    });

    it('double no comment when a run is resumed as another account', async () => {
      const { run_id } = await plannedAndApproved();
      const options = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
      server.faults.push({ method: 'POST', path: comments, effect: true, answer: 'reset' });
      const asking: Fault = { method: 'GET', path: comments, times: 1000, answer: { status: 503 } };
      server.faults.push(asking);
      const first = await world.agent.execute(options, quiet);
      expect(first.actions[6]!.state).to.equal('unknown');
      server.faults.length = 0;
      becomes('else-bot');
      await expectOnce(await world.agent.execute(options, quiet));
      expect(served.comments[0]!.author).to.equal('core-bot');
    });

    it('send nothing again as another account, and name both', async () => {
      const { run_id } = await plannedAndApproved();
      const options = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
      server.faults.push({ method: 'POST', path: comments, answer: 'reset' });
      server.faults.push({ method: 'GET', path: comments, times: 1000, answer: { status: 503 } });
      await world.agent.execute(options, quiet);
      server.faults.length = 0;
      becomes('else-bot');
      const asked = await world.agent.execute(options, quiet);
      expect(asked.actions[6]!.state).to.equal('unknown');
      expect(asked.actions[6]!.outcome!.message).to.contain('core-bot').and.contain('else-bot');
      expect(served.comments).to.deep.equal([]);
      becomes('core-bot');
      await expectOnce(await world.agent.execute(options, quiet));
    });

    it('refuse to undo when others pushed on top', async () => {
      const run = await executed();
      const { branch } = run.plan!.target;
      const commit = world.remote.git(
        '-c',
        'user.name=Somebody',
        '-c',
        'user.email=somebody@example.org',
        'commit-tree',
        `${branch}^{tree}`,
        '-p',
        branch!,
        '-m',
        'On top',
      );
      world.remote.git('update-ref', `refs/heads/${branch}`, commit);
      const refusal = await world.agent
        .undo({ run_id: run.run_id, by: everybody }, quiet)
        .catch((error) => error);
      expect(refusal).to.include({ code: 'branch_moved', exitCode: 3 });
      expect(served.pulls[0]!.state).to.equal('open');
      expect(served.comments).to.have.length(1);
      expect(world.remote.git('rev-parse', branch!)).to.equal(commit);
    });

    it('keep what was merged when undoing, and say so', async () => {
      const run = await executed();
      const { branch } = run.plan!.target;
      served.pulls[0]!.state = 'closed';
      served.pulls[0]!.merged_at = new Date().toISOString();
      const undone = await world.agent.undo({ run_id: run.run_id, by: everybody }, quiet);
      expect(undone.status).to.equal('partially_completed');
      const kept = undone.undo!.results.filter(({ state }) => state === 'kept');
      expect(kept.map(({ message }) => message)).to.deep.equal([
        `merged: #${served.pulls[0]!.number} stays; revert it with a new change`,
        `merged: ${branch} stays`,
      ]);
      const { stdout } = await world.command(['show', run.run_id]);
      expect(stdout)
        .to.contain('partially_completed')
        .and.to.match(/stays +push_branch +merged: /)
        .and.not.to.match(/core (undo|execute-approved|approve) /);
      const again = await world.command(['undo', run.run_id, '--yes']);
      expect(again.code).to.equal(0);
      expect(again.stdout)
        .to.match(/stays +open_pull_request +merged: #\d+ stays/)
        .and.to.contain(
          'What stays is left for the reason beside it; the rest was taken back. The run is partially_completed.',
        )
        .and.not.to.contain('The run is undone');
      const resumed = await world.agent.resume({ run_id: run.run_id, by: everybody }, quiet).catch((e) => e);
      expect(resumed).to.include({ code: 'nothing_to_resume' });
      expect(world.remote.git('rev-parse', branch!)).to.match(/^[0-9a-f]{40}$/);
    });
  });
}
