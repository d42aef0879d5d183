import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { UnknownRecord } from 'io-ts';
import { ApprovalAnswer } from '#kit/contracts/action.ts';
import type { CoreError } from '#kit/errors.ts';
import { createHttpClient } from '#kit/http/client.ts';
import type { DecisionRequest } from '../../services/agentd/agent.ts';
import { approvalProblem } from '../../services/agentd/execution/decisions.ts';
import { openServices } from '../../services/agentd/main.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { asSqliteClient, tamper } from '../fixtures/runs/tamper.ts';
import { startDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import {
  everybody,
  greetPatch,
  helloFiles,
  makeWorld,
  quiet,
  ref,
  type World,
} from '../fixtures/world/world.ts';

const withPatch = `Please:\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;

async function failure(promise: Promise<unknown>): Promise<CoreError> {
  return promise.then(
    () => expect.fail('it went through'),
    (error) => error,
  );
}

describe('approval and execution', () => {
  let world: World;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
  });
  after(() => world.close());

  async function planned(): Promise<Run> {
    const number = await world.newIssue(withPatch);
    return world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
  }

  function execute(
    run: Run,
    options: { actions?: readonly string[]; dry_run?: boolean; in?: World } = {},
  ): Promise<Run> {
    const { run_id } = run;
    const { actions = null, dry_run = false, in: there = world } = options;
    return there.agent.execute(
      { run_id, repo_dir: there.checkout.dir, actions, dry_run, by: everybody },
      quiet,
    );
  }

  function decide(run: Run, ordinals: readonly number[], more: Partial<DecisionRequest> = {}): Promise<Run> {
    const actions = ordinals.map((ordinal) => {
      const { action_id, digest } = run.actions[ordinal - 1]!.definition;
      return { action_id, digest };
    });
    const request = {
      run_id: run.run_id,
      decision: 'approve',
      actions,
      reason: null,
      claimed_approver: null,
      by: everybody,
    } as const;
    return world.agent.decide({ ...request, ...more });
  }

  const states = (run: Run) => run.actions.map(({ state }) => state);
  const branches = () => world.remote.git('for-each-ref', '--format=%(refname:short)', 'refs/heads');

  describe('a decision', () => {
    it('names the digest that was seen; one that does not fit decides nothing at all', async () => {
      const run = await planned();
      const [first, second] = run.actions.map(({ definition }) => definition);
      const actions = [
        { action_id: first!.action_id, digest: first!.digest },
        { action_id: second!.action_id, digest: first!.digest },
      ];
      const error = await failure(decide(run, [], { actions }));
      expect(error).to.include({ code: 'digest_mismatch', status: 409 });
      expect((await world.agent.run(run.run_id)).actions.map(({ approval }) => approval)).to.deep.equal(
        Array(7).fill('required'),
      );
    });

    it('can be changed until the action starts, and not afterwards', async () => {
      const run = await planned();
      await decide(run, [1], { decision: 'reject', reason: 'not yet' });
      const again = await decide(run, [1, 2]);
      expect(again.actions.map(({ approval }) => approval).slice(0, 3)).to.deep.equal([
        'approved',
        'approved',
        'required',
      ]);
      await execute(run);
      const error = await failure(decide(run, [1], { decision: 'reject', reason: 'too late' }));
      expect(error).to.include({ code: 'action_started', status: 409 });
      expect((await decide(run, [3])).actions[2]!.approval).to.equal('approved');
    });

    it('needs a reason to reject, a token that may approve, and an action that exists', async () => {
      const run = await planned();
      expect(await failure(decide(run, [1], { decision: 'reject', reason: ' ' }))).to.include({
        code: 'reason_required',
        status: 400,
      });
      const reader = { name: 'reader', scopes: ['read', 'plan', 'execute'] };
      expect(await failure(decide(run, [1], { by: reader }))).to.include({ code: 'scope_missing' });
      const stranger = [{ action_id: 'act_9_00000000', digest: '0'.repeat(64) }];
      const unknown = await failure(decide(run, [], { actions: stranger }));
      expect(unknown).to.include({ code: 'action_not_found', status: 404 });
      expect(unknown.message).to.contain(run.actions[0]!.definition.action_id);
    });

    it('records who signed, a name that was claimed beside it, and when it ends', async () => {
      const run = await decide(await planned(), [1], { claimed_approver: 'Mira' });
      const { decision } = run.actions[0]!;
      expect(decision).to.include({ approver: 'tester', claimed_approver: 'Mira', decision: 'approve' });
      expect(Date.parse(decision!.expires_at!) - Date.parse(decision!.at)).to.equal(7 * 86_400_000);
    });

    it('is void after its time, whatever the action', async () => {
      const run = await decide(await planned(), [1]);
      const [action] = run.actions;
      const { expires_at } = action!.decision!;
      expect(approvalProblem(action!, expires_at!)).to.include({ code: 'approval_expired' });
      expect(approvalProblem(action!, new Date(Date.parse(expires_at!) - 1).toISOString())).to.equal(null);
    });
  });

  describe('execute-approved', () => {
    it('refuses what is rejected, blocks what builds on it, naming on what, and leaves alone what waits', async () => {
      const run = await planned();
      await decide(run, [1, 2, 4]);
      await decide(run, [3], { decision: 'reject', reason: 'validates nothing' });
      const done = await execute(run);
      expect(states(done)).to.deep.equal([
        'succeeded',
        'succeeded',
        'refused',
        'blocked',
        'pending',
        'pending',
        'pending',
      ]);
      expect(done.actions[2]!.outcome).to.include({ code: 'action_rejected' });
      expect(done.actions[2]!.outcome!.message).to.contain('validates nothing');
      expect(done.actions[3]!.outcome!.message).to.contain('3 run_validation').and.to.contain('rejected');
      expect(branches()).to.equal('main');
    });

    it('has a recovery manifest from the plan on, over HTTP and on the command line', async () => {
      const run = await planned();
      const daemon = await startDaemon(world, ['read', 'plan', 'approve']);
      const client = createHttpClient({ baseUrl: daemon.url, token: daemon.token });
      try {
        const manifest = await client.get(`/v1/runs/${run.run_id}/branch-recovery`, UnknownRecord);
        const { branch, base_commit } = run.plan!.target;
        expect(manifest).to.deep.include({ run_id: run.run_id, branch, base_commit, restore: [] });
        expect(manifest).to.include({ vcs_change_id: null, vcs_operation_id: null });
      } finally {
        await client.close();
        await daemon.close();
      }
      const shown = await world.command(['show', run.run_id, '--recovery']);
      expect(shown.code, shown.stderr).to.equal(0);
      expect(shown.stdout).to.contain('Nothing is there to restore by hand.').and.not.to.contain('null');
    });

    it('changes nothing where nothing is approved, and names what waits', async () => {
      const run = await planned();
      for (const dry_run of [false, true]) {
        const error = await failure(execute(run, { dry_run }));
        expect(error).to.include({ code: 'nothing_to_execute', status: 409, exitCode: 3 });
        expect(error.message).to.contain('gate build').and.to.contain('1 create_branch, 2 apply_patch');
      }
      const after = await world.agent.run(run.run_id);
      expect([after.head, after.actions]).to.deep.equal([run.head, run.actions]);
    });

    it('refuses before anything runs when an action that was named is not approved, or is rejected', async () => {
      const run = await decide(await planned(), [1]);
      const rejected = await decide(run, [2], { decision: 'reject', reason: 'too broad' });
      const actions = run.actions.slice(0, 3).map(({ definition }) => definition.action_id);
      const error = await failure(execute(run, { actions }));
      expect(error).to.include({ code: 'approval_required', status: 422, exitCode: 3 });
      expect(error.message)
        .to.contain('2 apply_patch: rejected by tester: too broad')
        .and.to.contain('3 run_validation: not approved');
      expect((await world.agent.run(run.run_id)).head).to.deep.equal(rejected.head);
    });

    it('awaits approval again when the gate build has run, and refuses to run it twice', async () => {
      const run = await decide(await planned(), [1, 2, 3, 4]);
      const built = await execute(run);
      expect(built.status).to.equal('awaiting_approval');
      expect(states(built)).to.deep.equal([...Array(4).fill('succeeded'), ...Array(3).fill('pending')]);
      expect(built.actions.slice(4).every(({ outcome }) => outcome === null)).to.equal(true);
      const { runs } = await world.agent.runs({ limit: 1, status: 'awaiting_approval' });
      expect(runs[0]).to.include({ run_id: run.run_id, waiting: 3, waits_for: 'publish' });
      const error = await failure(execute(run));
      expect(error).to.include({ code: 'nothing_to_execute', exitCode: 3 });
      expect(error.message).to.contain('what was approved has run').and.to.contain('gate publish');
      expect((await world.agent.run(run.run_id)).head).to.deep.equal(built.head);
    });

    it('is refused with the same code when every action has run', async () => {
      const run = await world.approve(await planned());
      await execute(run);
      const error = await failure(execute(run));
      expect(error).to.include({ code: 'nothing_to_execute', exitCode: 3 });
      expect(error.message).to.contain('completed: every action has succeeded');
    });

    it('runs only the actions that were named', async () => {
      const run = await world.approve(await planned());
      const done = await execute(run, { actions: [run.actions[0]!.definition.action_id] });
      expect(states(done)).to.deep.equal(['succeeded', ...Array(6).fill('pending')]);
      const error = await failure(execute(run, { actions: ['act_99'] }));
      expect(error).to.include({ code: 'action_not_found', exitCode: 4 });
    });

    it('makes a dry run without any effect, and runs for real afterwards', async () => {
      const run = await world.approve(await planned());
      const before = [branches(), world.checkout.git('for-each-ref')];
      const dryRun = await execute(run, { dry_run: true });
      expect(states(dryRun)).to.deep.equal(Array(7).fill('pending'));
      expect(dryRun.actions.every(({ outcome }) => outcome?.message.includes('nothing was done'))).to.equal(
        true,
      );
      expect([branches(), world.checkout.git('for-each-ref')]).to.deep.equal(before);
      const done = await execute(run);
      expect(done.status).to.equal('completed');
    });

    it('never does anything for a plan that is a dry run', async () => {
      const number = await world.newIssue(withPatch);
      const run = await world.approve(
        await world.agent.planIssue({ ...ref, number, dry_run: true, by: everybody }, quiet),
      );
      const before = branches();
      await execute(run);
      expect(branches()).to.equal(before);
      expect(run.actions.every(({ definition }) => definition.dry_run)).to.equal(true);
    });

    it('lets one at a time at a run, and names who is at it', async () => {
      const run = await world.approve(await planned());
      const [one, two] = await Promise.allSettled([execute(run), execute(run)]);
      const refused = [one, two].find(({ status }) => status === 'rejected') as PromiseRejectedResult;
      expect(refused.reason).to.include({ code: 'lease_held', status: 409 });
      expect((await world.agent.run(run.run_id)).status).to.equal('completed');
    });

    it('refuses a wrong checkout, and none at all, before anything runs', async () => {
      const run = await world.approve(await planned());
      const options = { run_id: run.run_id, actions: null, dry_run: false, by: everybody };
      const wrong = await failure(world.agent.execute({ ...options, repo_dir: world.home }, quiet));
      expect(wrong).to.include({ exitCode: 3 });
      const none = await failure(world.agent.execute({ ...options, repo_dir: undefined }, quiet));
      expect(none).to.include({ code: 'repo_dir_required', exitCode: 3 });
      expect((await world.agent.run(run.run_id)).execution).to.equal(null);
    });

    it('goes on with the approvals it has after a person stopped it in the middle', async () => {
      const run = await world.approve(await planned());
      const stop = new AbortController();
      const progress = ({ step, state }: { step: string; state: string }) => {
        if (step === 'apply_patch' && state === 'succeeded') stop.abort();
      };
      const { run_id } = run;
      const options = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
      const stopped = await world.agent.execute(options, { progress, signal: stop.signal });
      expect(stopped.status).to.equal('awaiting_approval');
      const done = await world.agent.resume({ run_id, by: everybody }, quiet);
      expect(done.status).to.equal('completed');
    });

    it('writes nothing more once another execution of the run has begun', async () => {
      const run = await world.approve(await planned());
      const { run_id } = run;
      const options = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
      let second: Promise<Run> | undefined;
      const progress = ({ step, state }: { step: string; state: string }) => {
        if (step !== 'run_validation' || state !== 'started' || second !== undefined) return;
        // The lease is gone, and no other process knows who is at work.
        tamper(join(world.home, 'state'), 'DELETE FROM leases');
        second = openServices({ home: world.home }).then((other) =>
          other.agent.execute(options, quiet).finally(() => other.close()),
        );
      };
      const first = await world.agent.execute(options, { ...quiet, progress }).catch((error) => error);
      await second;
      expect(first.code).to.be.oneOf(['lease_lost', 'execution_superseded']);
      const pulls = (await world.forgeAdmin.listPullRequests(ref, 'all')).filter(
        ({ head }) => head === run.plan!.target.branch,
      );
      expect(pulls).to.have.length(1);
      await world.close();
      world = await makeWorld({ vcs: 'git' });
      allowUnsandboxed(world);
    });

    it('executes nothing more when an artifact of the validation is gone, and names it', async () => {
      const run = await world.approve(await planned());
      const built = await execute(run, {
        actions: run.actions.slice(0, 5).map(({ definition }) => definition.action_id),
      });
      const { report } = built.actions[2]!.outcome!.facts as { report: string };
      expect(
        tamper(join(world.home, 'state'), 'DELETE FROM run_artifacts WHERE digest = ?', report),
      ).to.equal(1);
      const refused = await failure(execute(run));
      expect(refused).to.include({ code: 'artifact_differs', exitCode: 3 });
      expect(String(refused)).to.contain('outcome.facts.report').and.contain(report).and.contain('missing');
      const { actions } = await world.agent.run(run.run_id);
      expect(actions.slice(5).map(({ state }) => state)).to.deep.equal(['pending', 'pending']);
    });

    for (const [change, make] of Object.entries({
      missing: 'DELETE FROM run_artifacts WHERE digest = ?',
      edited: "UPDATE run_artifacts SET content = CAST(content || 'x' AS BLOB) WHERE digest = ?",
    })) {
      it(`approves, executes and resumes nothing of a run with a ${change} artifact, whichever it is`, async () => {
        const run = await world.approve(await planned());
        await execute(run, { actions: [run.actions[0]!.definition.action_id] });
        const state = join(world.home, 'state');
        for (const digest of readdirSync(join(state, 'runs', run.run_id, 'artifacts'))) {
          const whole = asSqliteClient(state, (client) =>
            client.prepare('SELECT content FROM run_artifacts WHERE digest = ?').get(digest),
          )!.content as Uint8Array;
          tamper(state, make, digest);
          for (const going of [
            () => decide(run, [2]),
            () => execute(run),
            () => world.agent.resume({ run_id: run.run_id, by: everybody }, quiet),
          ]) {
            const refused = await failure(going());
            expect(refused).to.include({ code: 'artifact_differs' });
            expect(String(refused)).to.contain(`expected sha256 ${digest}`);
          }
          tamper(state, 'DELETE FROM run_artifacts WHERE digest = ?', digest);
          tamper(
            state,
            'INSERT INTO run_artifacts (run_id, digest, content) VALUES (?, ?, ?)',
            run.run_id,
            digest,
            whole,
          );
        }
        const { actions } = await world.agent.run(run.run_id);
        expect(actions.slice(1).every(({ state }) => state === 'pending')).to.equal(true);
        expect((await execute(run)).status).to.equal('completed');
      });
    }

    it('says that a planning was refused where its run is executed, resumed or undone', async () => {
      const empty = { owner: 'demo', repo: `empty-${Date.now()}` };
      await world.forgeAdmin.init({ ...empty, from: null });
      const author = { author: 'mira', association: 'contributor' as const };
      const { number } = await world.forgeAdmin.newIssue({
        ...empty,
        title: 'Greet',
        body: withPatch,
        ...author,
      });
      await failure(world.agent.planIssue({ ...empty, number, by: everybody }, quiet));
      const { run_id } = (await world.agent.runs({ limit: 1, ...empty })).runs[0]!;
      const run = await world.agent.run(run_id);
      expect(run.failure).to.include({ code: 'repository_empty' });
      for (const options of [{}, { dry_run: true }]) {
        const refused = await failure(execute(run, options));
        expect(refused).to.include({ code: 'run_not_planned', exitCode: 3 });
        expect(String(refused)).to.contain(run.failure!.message);
      }
      expect(await failure(world.agent.resume({ run_id: run.run_id, by: everybody }, quiet))).to.include({
        code: 'nothing_to_resume',
      });
      expect(await failure(world.agent.undo({ run_id: run.run_id, by: everybody }, quiet))).to.include({
        code: 'nothing_to_undo',
      });
    });

    it('rejects, runs and undoes nothing of a run that was cancelled', async () => {
      const run = await world.approve(await planned());
      const cancelled = await world.agent.cancel({
        run_id: run.run_id,
        by: everybody,
        reason: 'changed my mind',
      });
      expect(cancelled.status).to.equal('cancelled');
      expect(await failure(execute(run))).to.include({ code: 'run_cancelled', exitCode: 3 });
      expect(await failure(world.agent.undo({ run_id: run.run_id, by: everybody }, quiet))).to.include({
        code: 'nothing_to_undo',
      });
      expect(await failure(decide(run, [1]))).to.include({ code: 'run_closed' });
    });
  });

  describe('planning', () => {
    it('makes one run for one idempotency key, also when two ask at once', async () => {
      const number = await world.newIssue(withPatch);
      const request = { ...ref, number, idempotency_key: 'event-1', by: everybody };
      const runs = await Promise.all([1, 2, 3].map(() => world.agent.createRun(request, quiet.signal)));
      expect(new Set(runs.map(({ run }) => run.run_id)).size).to.equal(1);
      expect(runs.filter(({ created }) => created)).to.have.lengthOf(1);
      const other = await world.agent.createRun({ ...request, idempotency_key: 'event-2' }, quiet.signal);
      expect(other.run.run_id).to.not.equal(runs[0]!.run.run_id);
      const elsewhere = await world.newIssue(withPatch);
      const reused = await failure(world.agent.createRun({ ...request, number: elsewhere }, quiet.signal));
      expect(reused).to.include({ code: 'idempotency_key_reused', status: 422 });
      const noted = await failure(world.agent.createRun({ ...request, note: 'Only docs.' }, quiet.signal));
      expect(noted).to.include({ code: 'idempotency_key_reused' });
      expect(noted.message).to.include('note');
    });

    it('refuses a role that may propose nothing, before it makes a run', async () => {
      const number = await world.newIssue(withPatch);
      const refused = await failure(
        world.agent.planIssue({ ...ref, number, role: 'executor', by: everybody }, quiet),
      );
      expect(refused).to.include({ code: 'role_does_not_plan', exitCode: 2 });
      expect((await world.agent.runs({ limit: 1, ...ref, number })).runs).to.deep.equal([]);
    });

    it('proposes nothing but a comment for a role that may only comment', async () => {
      const number = await world.newIssue(withPatch);
      const run = await world.agent.planIssue({ ...ref, number, role: 'Avisour', by: everybody }, quiet);
      expect(run.actions.map(({ definition }) => definition.kind)).to.deep.equal(['comment_issue']);
      const done = await world.agent.execute(
        {
          run_id: (await world.approve(run)).run_id,
          repo_dir: null,
          actions: null,
          dry_run: false,
          by: everybody,
        },
        quiet,
      );
      expect(done.status).to.equal('completed');
    });

    it('writes nothing to the repository, the forge and the checkout', async () => {
      const refs = [
        world.remote.git('for-each-ref'),
        world.checkout.git('for-each-ref'),
        world.checkout.git('status', '--porcelain'),
      ];
      const pulls = await world.forgeAdmin.listPullRequests(ref, 'all');
      await planned();
      expect([
        world.remote.git('for-each-ref'),
        world.checkout.git('for-each-ref'),
        world.checkout.git('status', '--porcelain'),
      ]).to.deep.equal(refs);
      expect(await world.forgeAdmin.listPullRequests(ref, 'all')).to.deep.equal(pulls);
    });
  });

  describe('a validation', () => {
    let other: World;
    afterEach(() => other?.close());

    async function plannedWith(command: string): Promise<Run> {
      const validation = { validation: { commands: [{ name: 'check', run: command }] } };
      other = await makeWorld({
        vcs: 'git',
        files: { ...helloFiles, '.core.json': JSON.stringify(validation) },
      });
      allowUnsandboxed(other);
      const number = await other.newIssue(withPatch);
      return other.approve(await other.agent.planIssue({ ...ref, number, by: everybody }, quiet));
    }

    it('that fails lets nothing be committed, delivered or published, and keeps its log', async () => {
      const run = await plannedWith('echo it is broken; exit 3');
      const done = await execute(run, { in: other });
      expect(states(done)).to.deep.equal([
        'succeeded',
        'succeeded',
        'failed',
        'blocked',
        'blocked',
        'blocked',
        'blocked',
      ]);
      const { code, message, facts } = done.actions[2]!.outcome!;
      expect(code).to.equal('validation_failed');
      expect(message).to.contain('exit status 3');
      const [log] = Object.values(facts.logs as Record<string, string>);
      expect(Buffer.from(await other.agent.artifact(run.run_id, log!)).toString()).to.contain('it is broken');
      expect(other.remote.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')).to.equal('main');
      expect(other.checkout.git('branch', '--list', 'core/*')).to.equal('');
    });

    it('that failed lets what builds on it be approved only by who says anyway, everywhere by one rule', async () => {
      const run = await plannedWith('exit 3');
      await execute(run, { in: other });
      const publish = run.actions.filter(({ definition }) => definition.gate === 'publish');
      const actions = publish.map(({ definition: { action_id, digest } }) => ({ action_id, digest }));
      const request = { run_id: run.run_id, actions, reason: null, claimed_approver: null, by: everybody };
      const refused = await failure(other.agent.decide({ ...request, decision: 'approve' }));
      expect(refused).to.include({ code: 'validation_failed', status: 422, exitCode: 3 });
      expect(refused.message)
        .to.contain('5 push_branch, 6 open_pull_request, 7 comment_issue build on 3 run_validation')
        .and.to.contain('exit status 3');
      expect(refused.hint).to.contain('--anyway').and.to.contain('"anyway": true');

      const typed = await other.command(['approve', run.run_id, '--gate', 'publish']);
      expect(typed.code).to.equal(3);
      expect(typed.stderr).to.contain('[validation_failed]');
      const anyway = await other.command(['approve', run.run_id, '--gate', 'publish', '--anyway']);
      expect(anyway.code, anyway.stderr).to.equal(0);
      expect(anyway.stdout).to.contain('note  3 run_validation failed: ').and.to.contain('execute-approved');

      const daemon = await startDaemon(other, ['read', 'approve']);
      const client = createHttpClient({ baseUrl: daemon.url, token: daemon.token });
      const { action_id, digest } = actions[0]!;
      const path = `/v1/runs/${run.run_id}/actions/${action_id}/approval`;
      const body = { decision: 'approve', digest };
      try {
        const asked = await failure(client.post(path, body, ApprovalAnswer));
        expect(asked).to.include({ code: 'validation_failed' });
        const { action } = await client.post(path, { ...body, anyway: true }, ApprovalAnswer);
        expect(action.approval).to.equal('approved');
      } finally {
        await client.close();
        await daemon.close();
      }
      const again = await execute(run, { in: other });
      expect(states(again).slice(4)).to.deep.equal(['blocked', 'blocked', 'blocked']);
    });

    it('is ended by a cancel, and the run with it', async () => {
      const run = await plannedWith('sleep 250');
      const started = performance.now();
      const executing = other.agent.execute(
        { run_id: run.run_id, repo_dir: other.checkout.dir, actions: null, dry_run: false, by: everybody },
        {
          ...quiet,
          progress: ({ step, state }) => {
            if (step !== 'run_validation' || state !== 'started') return;
            void other.agent.cancel({ run_id: run.run_id, by: everybody, reason: null });
          },
        },
      );
      const done = await executing;
      expect(done.status).to.equal('cancelled');
      expect(performance.now() - started).to.be.below(120_000);
      expect((await other.agent.verify(run.run_id)).problems).to.deep.equal([]);
    });

    it('that is not to be found leaves out push and pull request, and says what is missing', async () => {
      const { '.core.json': _, ...files } = helloFiles;
      other = await makeWorld({ vcs: 'git', files });
      allowUnsandboxed(other);
      const number = await other.newIssue(withPatch);
      const run = await other.agent.planIssue({ ...ref, number, by: everybody }, quiet);
      expect(run.actions.map(({ definition }) => definition.kind)).to.deep.equal([
        'create_branch',
        'apply_patch',
        'commit',
      ]);
      expect(run.plan!.notices.join()).to.contain('config/validation.json');
    });

    it('is critical to change, when the patch touches what decides it', async () => {
      const makefile =
        'diff --git a/.core.json b/.core.json\nnew file mode 100644\n--- /dev/null\n+++ b/.core.json\n@@ -0,0 +1 @@\n+{}\n';
      const { '.core.json': _, ...files } = helloFiles;
      other = await makeWorld({ vcs: 'git', files });
      allowUnsandboxed(other);
      writeFileSync(
        join(other.home, 'config/validation.json'),
        JSON.stringify({
          allow_unsandboxed: true,
          repositories: { 'demo/hello': { commands: [{ name: 'x', run: 'true' }] } },
        }),
      );
      const number = await other.newIssue(`\`\`\`diff\n${makefile}\`\`\``);
      const run = await other.agent.planIssue({ ...ref, number, by: everybody }, quiet);
      expect(run.actions[1]!.definition).to.include({ kind: 'apply_patch', risk: 'critical' });
    });
  });
});
