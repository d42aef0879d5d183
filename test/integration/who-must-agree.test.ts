import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { RunDetail } from '#kit/contracts/run.ts';
import type { CoreError } from '#kit/errors.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { createToken, ensureTokens, revokeToken, rotateToken, type Scope } from '#kit/tokens/tokens.ts';
import type { DecisionRequest, Person } from '../../services/agentd/agent.ts';
import { statementOf } from '../../services/agentd/attestation/statement.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { core, started } from '../fixtures/world/core-command.ts';
import { startDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed, expectVerified, outcomeOf, validated } from '../fixtures/world/place.ts';
import { greetPatch, helloFiles, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

const everything: Scope[] = ['read', 'plan', 'approve', 'execute', 'admin'];
const mira: Person = { name: 'mira', scopes: everything };
const jo: Person = { name: 'jo', scopes: everything };
const kim: Person = { name: 'kim', scopes: everything };
const people = {
  mira: { logins: ['Mira-M'], tokens: ['mira-laptop'] },
  jo: { logins: ['Jo'] },
  kim: { teams: ['acme/core'] },
};
const twoPeople = { name: 'two people', gates: ['build'], approvers: 2 };

describe('who must agree', () => {
  let world: World;

  beforeEach(async () => {
    const files = { ...helloFiles, ...validated, '.github/CODEOWNERS': '* @jo\n/docs/ @acme/CORE\n' };
    world = await makeWorld({ vcs: 'git', files });
    allowUnsandboxed(world);
  });

  afterEach(() => world.close());

  function policy(approval: object, more: object = {}): void {
    const document = { approval, people, ...more };
    writeFileSync(join(world.home, 'config/policy.json'), JSON.stringify(document));
  }

  const folders = () => ({ tokens: join(world.home, 'config/tokens') });

  async function planned(
    options: { patch?: string; by?: Person; association?: 'owner' | 'contributor' } = {},
  ) {
    const { patch = greetPatch, by = mira, association = 'owner' } = options;
    const { number } = await world.forgeAdmin.newIssue({
      ...ref,
      title: 'Greet strangers',
      body: `Please:\n\n\`\`\`diff\n${patch}\`\`\`\n`,
      author: 'mira',
      association,
    });
    return world.agent.planIssue({ ...ref, number, by }, quiet);
  }

  function decide(run: Run, by: Person, more: Partial<DecisionRequest> = {}): Promise<Run> {
    return world.agent.decide({
      run_id: run.run_id,
      decision: 'approve',
      actions: run.actions
        .filter(({ definition }) => definition.gate === 'build')
        .map(({ definition: { action_id, digest } }) => ({ action_id, digest })),
      reason: null,
      claimed_approver: null,
      by,
      ...more,
    });
  }

  function execute(run: Run): Promise<Run> {
    const repo_dir = world.checkout.dir;
    return world.agent.execute(
      { run_id: run.run_id, repo_dir, actions: null, dry_run: false, by: mira },
      quiet,
    );
  }

  const failure = (promise: Promise<unknown>): Promise<CoreError> =>
    promise.then(
      () => expect.fail('it went through'),
      (error) => error,
    );
  const build = ({ actions }: Run) => actions.slice(0, 4).map(({ approval }) => approval);
  const all = (word: string) => Array(4).fill(word);

  describe('by rules', () => {
    it('waits for the second person, then runs and can be verified', async () => {
      policy({ rules: [twoPeople] });
      const run = await planned();
      expect(run.plan!.notices[0]).to.contain("the rule 'two people' of policy.json asks for 2 people");
      const one = await decide(run, mira);
      expect(build(one)).to.deep.equal(all('required'));
      expect((await failure(execute(one))).code).to.equal('nothing_to_execute');
      const both = await decide(run, jo);
      expect(build(both)).to.deep.equal(all('approved'));
      const done = await execute(both);
      expect(done.actions.slice(0, 4).map(({ state }) => state)).to.deep.equal(all('succeeded'));
      await expectVerified(world, done);
      const store = runStoreIn(join(world.home, 'state'));
      const { predicate } = JSON.parse(await statementOf(store, done.run_id));
      store.close();
      const first = done.actions[0]!.definition.action_id;
      const named = predicate.approved.filter(({ action_id }: { action_id: string }) => action_id === first);
      expect(named.map(({ approver }: { approver: string }) => approver)).to.deep.equal(['mira', 'jo']);
    });

    it('counts one person once, whichever token it is, and says so', async () => {
      policy({ rules: [twoPeople] });
      const run = await decide(await planned(), mira);
      for (const name of ['mira', 'mira-laptop']) {
        const error = await failure(decide(run, { ...mira, name }));
        expect(error).to.include({ code: 'approved_already', status: 409 });
        expect(error.message).to.contain('mira has approved it already; it has 1 of 2');
      }
      const stranger = await failure(decide(run, { ...mira, name: 'mira-other' }));
      expect(stranger).to.include({ code: 'approver_unknown', status: 422 });
      expect(build(await world.agent.run(run.run_id))).to.deep.equal(all('required'));
    });

    it('does not count who asked, nor whom the request names as having caused it', async () => {
      policy({ rules: [{ ...twoPeople, approvers: 1, not_requester: true }] });
      const run = await planned({ by: { ...mira, name: 'mira-laptop' } });
      const error = await failure(decide(run, mira));
      expect(error).to.include({ code: 'approver_is_requester', status: 422 });
      expect(build(await decide(run, jo))).to.deep.equal(all('approved'));
      const { number } = await world.forgeAdmin.newIssue({
        ...ref,
        title: 'Again',
        body: `\`\`\`diff\n${greetPatch}\`\`\`\n`,
        author: 'mira',
        association: 'owner',
      });
      const trigger = { kind: 'github', event_id: null, what: null, actor: 'jO' } as const;
      const byBridge = { name: 'bridge', scopes: ['plan'] };
      const caused = await world.agent.planIssue({ ...ref, number, trigger, by: byBridge }, quiet);
      expect(caused.plan!.approval_terms!.requesters).to.deep.equal(['bridge', 'jo']);
      expect((await failure(decide(caused, jo))).code).to.equal('approver_is_requester');
    });

    it('asks an owner of each owned file, by CODEOWNERS of the base commit, in any case', async () => {
      policy({ rules: [{ ...twoPeople, code_owners: true }] });
      const run = await planned();
      expect(run.plan!.approval_terms!.code_owners).to.deep.equal({
        path: '.github/CODEOWNERS',
        owned: [
          { owners: ['@acme/CORE'], files: ['docs/strangers.md'] },
          { owners: ['@jo'], files: ['src/greet.js'] },
        ],
      });
      const one = await decide(run, mira);
      expect(one.actions[0]!.approval).to.equal('required');
      const two = await decide(run, jo);
      expect(build(two)).to.deep.equal(all('required'));
      expect(build(await decide(run, kim))).to.deep.equal(all('approved'));
    });

    it('refuses the approval of somebody who is no owner where only an owner is missing', async () => {
      policy({ rules: [{ ...twoPeople, approvers: 1, code_owners: true }] });
      const run = await planned();
      const error = await failure(decide(run, mira));
      expect(error).to.include({ code: 'not_code_owner', status: 422 });
      expect(error.message).to.contain('@jo').and.to.contain('mira is known as @mira-m');
    });

    it('reads CODEOWNERS of the base commit, whatever the patch makes of it', async () => {
      policy({ rules: [{ ...twoPeople, approvers: 1, code_owners: true }] });
      const takeover = `diff --git a/.github/CODEOWNERS b/.github/CODEOWNERS
--- a/.github/CODEOWNERS
+++ b/.github/CODEOWNERS
@@ -1,2 +1 @@
-* @jo
-/docs/ @acme/CORE
+* @mira-m
`;
      const run = await planned({ patch: takeover });
      expect((await failure(decide(run, mira))).code).to.equal('not_code_owner');
      expect(build(await decide(run, jo))).to.deep.equal(all('approved'));
    });

    it('is rejected by one person, and only that person changes it', async () => {
      policy({ rules: [twoPeople] });
      const run = await decide(await planned(), mira);
      const no = await decide(run, kim, { decision: 'reject', reason: 'too broad' });
      expect(build(no)).to.deep.equal(all('rejected'));
      const error = await failure(decide(run, jo));
      expect(error).to.include({ code: 'action_rejected', status: 409 });
      expect(error.message).to.contain('kim rejected it: too broad');
      expect(build(await decide(run, kim))).to.deep.equal(all('approved'));
    });

    it('shows how far it is on the command line and over HTTP', async () => {
      policy({ rules: [twoPeople] });
      const run = await planned();
      const { stdout: before } = await world.command(['show', run.run_id]);
      expect(before).to.contain('0 of 2');
      await decide(run, jo);
      const { stdout } = await world.command(['show', run.run_id]);
      expect(stdout).to.contain('waits  1, 2, 3, 4: 1 of 2');
      const detail = await world.command(['actions', run.run_id, '1']);
      expect(detail.stdout)
        .to.match(/approval +required, 1 of 2/)
        .and.to.match(/agreed +jo, expires/);
      const daemon = await startDaemon(world);
      const client = createHttpClient({ baseUrl: daemon.url, token: daemon.token });
      try {
        const [first] = (await client.get(`/v1/runs/${run.run_id}`, RunDetail)).actions;
        expect(first!.approval_progress).to.include({ met: false, text: '1 of 2', needs: '2 people' });
        expect(first!.decisions!.map(({ approver }) => approver)).to.deep.equal(['jo']);
      } finally {
        await client.close();
        await daemon.close();
      }
    });

    it('lets the second person approve on the command line with a token of their own', async () => {
      policy({ rules: [twoPeople] });
      ensureTokens(folders(), 'mira');
      const { text } = createToken(folders(), { name: 'jo', scopes: ['read', 'approve'] });
      const theirs = join(world.home, 'of-jo');
      mkdirSync(theirs, { mode: 0o700 });
      const hasText = (token: string) => writeFileSync(join(theirs, 'jo.token'), token, { mode: 0o600 });
      hasText(text);
      const run = await decide(await planned(), mira);
      const env = { CORE_HOME: world.home, CORE_TOKENS_DIR: theirs, CORE_REGISTRY_DIR: folders().tokens };
      const approve = () => started(core, ['approve', run.run_id, '--gate', 'build'], env).ended;
      const answer = await approve();
      expect(answer.stderr).to.equal('');
      expect(answer.stdout)
        .to.contain('Approved 4 actions as jo')
        .and.to.contain('agreed  1, 2, 3, 4: 2 of 2');
      expect(build(await world.agent.run(run.run_id))).to.deep.equal(all('approved'));
      hasText(`core_jo_${'0'.repeat(48)}`);
      expect((await approve()).code).to.equal(4);
    });
  });

  describe('when an action starts', () => {
    const refusal = async (run: Run, code: string, ...words: string[]): Promise<void> => {
      const after = await execute(run);
      const outcome = outcomeOf(after, 'create_branch');
      expect(outcome.code, outcome.message).to.equal(code);
      for (const word of words) expect(outcome.message).to.contain(word);
      expect(world.remote.git('for-each-ref', 'refs/heads/core')).to.equal('');
    };

    it('reads the rules again, and refuses naming what was asked and what is asked now', async () => {
      policy({ rules: [] });
      const run = await decide(await planned(), mira);
      policy({ rules: [twoPeople] });
      await refusal(run, 'approval_rules_changed', "'two people' asks for 2 people now", '1 of 2');
      const again = await decide(run, jo);
      const done = await execute(again);
      expect(done.actions[0]!.state).to.equal('succeeded');
      await expectVerified(world, done);
    });

    it('holds to the rules of the plan where those of now ask for less', async () => {
      policy({ rules: [twoPeople] });
      const run = await decide(await planned(), mira);
      policy({ rules: [] });
      expect((await failure(execute(run))).code).to.equal('nothing_to_execute');
    });

    it('refuses where a rule asks for code owners that the plan did not look at', async () => {
      const run = await decide(await planned(), mira);
      policy({ rules: [{ name: 'owners', code_owners: true }] });
      await refusal(run, 'approval_rules_changed', 'plan the issue again');
    });

    it('does not count who is another person by now', async () => {
      policy({ rules: [twoPeople] });
      const run = await decide(await decide(await planned(), mira), jo);
      policy({ rules: [twoPeople] }, { people: { mira: { tokens: ['jo'] }, kim: {} } });
      await refusal(run, 'approval_rules_changed', "the token 'jo' was jo");
    });

    it('does not count a token that was revoked, or lost its scope, with rules and without', async () => {
      createToken(folders(), { name: 'jo', scopes: ['approve'] });
      createToken(folders(), { name: 'mira', scopes: everything });
      policy({ rules: [twoPeople] });
      const two = await decide(await decide(await planned(), mira), jo);
      policy({ rules: [] });
      const alone = await decide(await planned(), jo);
      revokeToken(folders(), 'jo');
      await refusal(two, 'approver_revoked', "the token 'jo' was revoked");
      await refusal(alone, 'approver_revoked', "the token 'jo' was revoked");
      createToken(folders(), { name: 'jo', scopes: ['read'] });
      await refusal(alone, 'approver_revoked', 'a new token with that name does not restore its approvals');
      expect((await execute(await decide(alone, mira))).actions[0]!.state).to.equal('succeeded');
    });

    it('counts the token itself: another one of its name decides for itself, with rules and without', async () => {
      const tokenOf = (name: string) => {
        const { record } = createToken(folders(), { name, scopes: everything });
        return { name, scopes: everything, token: record.sha256 };
      };
      const [first, other] = [tokenOf('jo'), tokenOf('mira')];
      policy({ rules: [twoPeople] });
      const two = await decide(await decide(await planned(), other), first);
      policy({ rules: [] });
      const alone = await decide(await planned(), first);
      revokeToken(folders(), 'jo');
      const second = tokenOf('jo');
      await refusal(two, 'approver_revoked', 'a new token with that name does not restore its approvals');
      await refusal(alone, 'approver_revoked', 'a new token with that name does not restore its approvals');
      for (const run of [two, alone]) {
        const done = await execute(await decide(run, second));
        expect(done.actions[0]!.state).to.equal('succeeded');
      }
    });

    it('counts an approval after its token was rotated, and the record names both tokens', async () => {
      const { record } = createToken(folders(), { name: 'jo', scopes: everything });
      const run = await decide(await planned(), { name: 'jo', scopes: everything, token: record.sha256 });
      const digests = [record, ...[1, 2].map(() => rotateToken(folders(), { name: 'jo' }).record)].map(
        ({ sha256 }) => sha256,
      );
      const done = await execute(run);
      expect(done.actions[0]!.state).to.equal('succeeded');
      expect(done.rotations.map(({ name, from, to }) => [name, from, to])).to.deep.equal([
        ['jo', digests[0], digests[1]],
        ['jo', digests[1], digests[2]],
      ]);
      await expectVerified(world, done);
    });

    it('starts nothing while the policy cannot be read', async () => {
      const run = await decide(await planned(), mira);
      writeFileSync(join(world.home, 'config/policy.json'), '{"approval": {"rules": [{}]}}');
      await refusal(run, 'config_invalid', 'policy.json');
    });
  });

  describe('in advance', () => {
    const soon = () => new Date(Date.now() + 30 * 86_400_000).toISOString();
    const small = () => ({
      name: 'small builds',
      author: 'mira',
      repositories: ['demo/*'],
      forges: ['local'],
      risk_at_most: 60,
      expires_at: soon(),
    });

    beforeEach(() => void createToken(folders(), { name: 'mira', scopes: everything }));

    it('approves what it covers when the plan is sealed, says so, runs and can be verified', async () => {
      const standing = small();
      policy({ standing: [standing] });
      const run = await planned();
      expect(run.plan!.notices[0]).to.contain("approved by the standing approval 'small builds' of mira");
      expect(build(run)).to.deep.equal(all('approved'));
      expect(run.actions.slice(4).map(({ approval }) => approval)).to.deep.equal(Array(3).fill('required'));
      const { decision } = run.actions[0]!;
      expect(decision).to.deep.include({ approver: 'mira', standing: run.actions[1]!.decision!.standing });
      const { stdout } = await world.command(['show', run.run_id]);
      expect(stdout).to.contain('standing');
      const done = await execute(run);
      expect(done.actions.slice(0, 4).map(({ state }) => state)).to.deep.equal(all('succeeded'));
      await expectVerified(world, done);
    });

    for (const [why, change] of [
      ['was removed', () => []],
      ['is another', () => [{ ...small(), risk_at_most: 59 }]],
    ] as const) {
      it(`does not count where it ${why} since`, async () => {
        policy({ standing: [small()] });
        const run = await planned();
        policy({ standing: change() });
        const outcome = outcomeOf(await execute(run), 'create_branch');
        expect(outcome.code).to.equal('standing_changed');
        expect((await execute(await decide(run, jo))).actions[0]!.state).to.equal('succeeded');
      });
    }

    it('does not count once its author has lost the scope admin', async () => {
      policy({ standing: [small()] });
      const run = await planned();
      revokeToken(folders(), 'mira');
      expect(outcomeOf(await execute(run), 'create_branch').code).to.equal('standing_changed');
      const { record } = createToken(folders(), { name: 'mira', scopes: everything });
      expect(build(await planned()), 'by its name').to.deep.equal(all('required'));
      policy({ standing: [{ ...small(), author_token: record.sha256 }] });
      expect(build(await planned()), 'by its digest').to.deep.equal(all('approved'));
      rotateToken(folders(), { name: 'mira' });
      expect((await execute(await planned())).actions[0]!.state, 'rotated').to.equal('succeeded');
      revokeToken(folders(), 'mira');
      createToken(folders(), { name: 'mira', scopes: ['read', 'approve'] });
      expect(build(await planned())).to.deep.equal(all('required'));
    });

    it('never counts where a rule asks people, then or now', async () => {
      policy({ standing: [small()], rules: [twoPeople] });
      const asked = await planned();
      expect(build(asked)).to.deep.equal(all('required'));
      expect(asked.plan!.approval_terms!.actions.every(({ standing }) => standing === null)).to.equal(true);
      policy({ standing: [small()] });
      const run = await planned();
      policy({ standing: [small()], rules: [twoPeople] });
      expect(outcomeOf(await execute(run), 'create_branch').code).to.equal('approval_rules_changed');
    });

    it('covers no text of outsiders, no critical path and no publishing but by name', async () => {
      policy({ standing: [{ ...small(), risk_at_most: 100 }] });
      expect(build(await planned({ association: 'contributor' }))).to.deep.equal(all('required'));
      const lockfile =
        'diff --git a/yarn.lock b/yarn.lock\nnew file mode 100644\n--- /dev/null\n+++ b/yarn.lock\n@@ -0,0 +1 @@\n+x\n';
      const critical = greetPatch + lockfile;
      expect(build(await planned({ patch: critical }))).to.deep.equal(all('required'));
      policy({
        standing: [{ ...small(), risk_at_most: 100, untrusted_influence: true, critical_paths: true }],
      });
      const named = await planned({ patch: critical, association: 'contributor' });
      expect(build(named)).to.deep.equal(all('approved'));
      expect(named.actions.slice(4).map(({ approval }) => approval)).to.deep.equal(Array(3).fill('required'));
      policy({ standing: [{ ...small(), risk_at_most: 100, gates: ['build', 'publish'] }] });
      expect((await planned()).actions.every(({ approval }) => approval === 'approved')).to.equal(true);
    });

    for (const [point, approved] of [
      ['standing.checked', 'required'],
      ['standing.recorded', 'approved'],
    ] as const) {
      it(`leaves a whole record when it is killed at ${point}, and the rest to people`, async () => {
        policy({ standing: [small()] });
        const { number } = await world.forgeAdmin.newIssue({
          ...ref,
          title: 'Greet strangers',
          body: `\`\`\`diff\n${greetPatch}\`\`\`\n`,
          author: 'mira',
          association: 'owner',
        });
        const killed = await world.command(['plan', `demo/hello#${number}`], { CORE_CRASH_AT: point });
        expect(killed.signal, killed.stderr).to.equal('SIGKILL');
        const [listed] = (await world.agent.runs({ limit: 1 })).runs;
        const run = await world.agent.run(listed!.run_id);
        expect(build(run)).to.deep.equal(all(approved));
        await expectVerified(world, run);
        const decided = approved === 'required' ? await decide(run, jo) : run;
        expect((await execute(decided)).actions.slice(0, 4).map(({ state }) => state)).to.deep.equal(
          all('succeeded'),
        );
      });
    }

    it('gives way to a newer plan of the issue, as nobody has approved', async () => {
      policy({ standing: [small()] });
      const first = await planned();
      const { number } = first.request;
      const second = await world.agent.planIssue({ ...ref, number: number!, by: mira }, quiet);
      expect((await world.agent.run(first.run_id)).superseded_by).to.equal(second.run_id);
      await expectVerified(world, first);
    });
  });
});
