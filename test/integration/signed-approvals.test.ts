import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { ApprovalBody } from '#kit/contracts/action.ts';
import { decode } from '#kit/decode.ts';
import type { CoreError } from '#kit/errors.ts';
import { ownToken } from '#kit/tokens/tokens.ts';
import type { Approval } from '../../services/agentd/action.ts';
import type { Person, Verification } from '../../services/agentd/agent.ts';
import { openServices } from '../../services/agentd/main.ts';
import type { NewEvent } from '../../services/agentd/runs/event.ts';
import { lineOf, writeLines } from '../../services/agentd/runs/log/event-line.ts';
import type { ActionState, Run } from '../../services/agentd/runs/run.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { approvalText } from '../../services/agentd/signatures/approval-text.ts';
import { signDecisions } from '../../services/agentd/signatures/sign-decisions.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { allowSigners, newSigner, type Signer } from '../fixtures/signing/signer.ts';
import { allowUnsandboxed, outcomeOf, statesOf } from '../fixtures/world/place.ts';
import { greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const scopes = ['read', 'plan', 'approve', 'execute', 'admin'];
const mira: Person = { name: 'mira', scopes };

describeWith(['git', 'ssh'], 'signed approvals', function () {
  this.timeout(300_000);
  let world: World;
  let signer: Signer;
  let mallory: Signer;
  let signersFile: string;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    signersFile = join(world.home, 'config/allowed_signers');
    [signer, mallory] = [newSigner(), newSigner()];
  });

  beforeEach(() => {
    policy({ require_signature: true });
    allowSigners(signersFile, [{ principal: 'mira', signer }]);
  });

  after(() => world?.close());

  function policy(approval: Readonly<Record<string, unknown>>): void {
    writeFileSync(join(world.home, 'config/policy.json'), JSON.stringify({ approval }));
  }

  async function planned(): Promise<Run> {
    const number = await world.newIssue(`Greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    return world.agent.planIssue({ ...ref, number, by: mira }, quiet);
  }

  const seen = ({ definition: { action_id, digest } }: ActionState) => ({ action_id, digest });

  interface Signing {
    readonly key?: Signer;
    readonly approver?: string;
    readonly by?: Person;
    readonly now?: Date;
    readonly days?: number;
    readonly decision?: 'approve' | 'reject';
    readonly change?: (value: string) => string;
  }

  function decideSigned(run: Run, actions: readonly ActionState[], how: Signing = {}): Promise<Run> {
    const { key = signer, by = mira, now, days = 7, decision = 'approve', change = (value) => value } = how;
    const request = { run_id: run.run_id, decision, actions: actions.map(seen), days, key: key.key };
    const signed = signDecisions({ ...request, approver: how.approver ?? by.name }, now).map((one) => ({
      ...one,
      signature: { ...one.signature, value: change(one.signature.value) },
    }));
    const reason = decision === 'reject' ? 'not this way' : null;
    const common = { run_id: run.run_id, decision, reason, claimed_approver: null, by };
    return world.agent.decide({ ...common, actions: signed });
  }

  const failure = (work: Promise<unknown>): Promise<CoreError> =>
    work.then(
      () => Promise.reject(new Error('nothing was refused')),
      (error) => error,
    );

  /** As a process that starts afterwards executes it. */
  async function executed(run: Run): Promise<Run> {
    const services = await openServices({ home: world.home });
    try {
      const { dir: repo_dir } = world.checkout;
      const request = { run_id: run.run_id, repo_dir, actions: null, dry_run: false, by: mira };
      return await services.agent.execute(request, quiet);
    } finally {
      await services.close();
    }
  }

  async function verified(run: Run, signers?: string): Promise<Verification> {
    const services = await openServices({ home: world.home });
    try {
      return await services.agent.verify(run.run_id, signers);
    } finally {
      await services.close();
    }
  }

  const builds = (run: Run) => run.actions.filter(({ definition }) => definition.gate === 'build');
  const branch = (run: Run) =>
    world.checkout.git('for-each-ref', '--format=%(objectname)', `refs/heads/${run.plan!.target.branch}`);

  describe('where the policy requires them', () => {
    it('are recorded with their signer, count at the execution, and verify offline', async () => {
      const run = await planned();
      const approved = await decideSigned(run, builds(run));
      const { signature } = approved.actions[0]!.decision!;
      expect(signature).to.include({ principal: 'mira' });
      expect(signature!.key).to.equal(fingerprint(signer));
      const done = await executed(run);
      expect(builds(done).map(({ state }) => state)).to.deep.equal(builds(run).map(() => 'succeeded'));
      const { problems, approvals } = await verified(run);
      expect(problems).to.deep.equal([]);
      expect(approvals.map(({ signature: by, problem }) => [by?.principal, problem])).to.deep.equal(
        builds(run).map(() => ['mira', null]),
      );
    });

    it('an approval without one is refused, a rejection is not', async () => {
      const run = await planned();
      const ask = (decision: 'approve' | 'reject') =>
        world.agent.decide({
          run_id: run.run_id,
          decision,
          actions: builds(run).map(seen),
          reason: 'no',
          claimed_approver: null,
          by: mira,
        });
      const error = await failure(ask('approve'));
      expect(error).to.include({ code: 'signature_required' });
      expect(error.message).to.contain('approval.require_signature of config/policy.json');
      expect((await world.agent.run(run.run_id)).actions[0]!.approval).to.equal('required');
      expect((await ask('reject')).actions[0]!.approval).to.equal('rejected');
    });
  });

  describe('a signature does not count', () => {
    const cases: readonly { readonly name: string; readonly how: () => Signing; readonly code: string }[] = [
      { name: 'of a key that nobody allowed', how: () => ({ key: mallory }), code: 'signature_invalid' },
      { name: 'in another name', how: () => ({ approver: 'bob' }), code: 'signature_invalid' },
      {
        name: 'of an allowed person for the token of another',
        how: () => ({ by: { name: 'bob', scopes } }),
        code: 'signature_invalid',
      },
      {
        name: 'that is of something else',
        how: () => ({ change: () => signatureOf('something else\n', signer) }),
        code: 'signature_invalid',
      },
      {
        name: 'from an hour ago',
        how: () => ({ now: new Date(Date.now() - 3_600_000) }),
        code: 'signature_time',
      },
      {
        name: 'from an hour to come',
        how: () => ({ now: new Date(Date.now() + 3_600_000) }),
        code: 'signature_time',
      },
      {
        name: 'that holds for longer than the policy allows',
        how: () => ({ days: 8 }),
        code: 'signature_time',
      },
    ];
    for (const { name, how, code } of cases) {
      it(name, async () => {
        const run = await planned();
        const error = await failure(decideSigned(run, run.actions.slice(0, 1), how()));
        expect(error, error.message).to.include({ code });
        expect((await world.agent.run(run.run_id)).head).to.deep.equal(run.head);
      });
    }

    it('for another decision than the one that was signed', async () => {
      const run = await planned();
      const [first] = run.actions as [ActionState];
      const [signed] = signDecisions({
        run_id: run.run_id,
        decision: 'reject',
        actions: [seen(first)],
        approver: 'mira',
        days: 7,
        key: signer.key,
      });
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      const actions = [{ ...seen(first), signature: { ...signed!.signature, expires_at } }];
      const common = { run_id: run.run_id, reason: null, claimed_approver: null, by: mira };
      const error = await failure(world.agent.decide({ ...common, decision: 'approve', actions }));
      expect(error).to.include({ code: 'signature_invalid' });
    });

    it('again, after the action was rejected', async () => {
      const run = await planned();
      const actions = signDecisions({
        run_id: run.run_id,
        decision: 'approve',
        actions: run.actions.slice(0, 1).map(seen),
        approver: 'mira',
        days: 7,
        key: signer.key,
      });
      const common = { run_id: run.run_id, reason: null, claimed_approver: null, by: mira };
      const approve = () => world.agent.decide({ ...common, decision: 'approve', actions });
      await approve();
      await world.agent.decide({
        ...common,
        decision: 'reject',
        reason: 'no',
        actions: run.actions.slice(0, 1).map(seen),
      });
      expect(await failure(approve())).to.include({ code: 'signature_time' });
    });

    it('of a key that is for another namespace, or was valid until yesterday', async () => {
      const run = await planned();
      for (const options of ['namespaces="git"', 'valid-before="20200101"', 'valid-after="29990101"']) {
        allowSigners(signersFile, [{ principal: 'mira', signer, options }]);
        const error = await failure(decideSigned(run, run.actions.slice(0, 1)));
        expect(error, options).to.include({ code: 'signature_invalid' });
      }
    });

    it('where there is no allowed_signers, which is said', async () => {
      const run = await planned();
      rmSync(signersFile);
      const error = await failure(decideSigned(run, run.actions.slice(0, 1)));
      expect(error).to.include({ code: 'allowed_signers_missing' });
      expect(error.message).to.contain(signersFile);
    });
  });

  it('a principal that the policy maps to the token signs for it', async () => {
    policy({ require_signature: true, signers: { mira: ['mira@example.org'] } });
    allowSigners(signersFile, [{ principal: 'mira@example.org', signer }]);
    const run = await planned();
    const approved = await decideSigned(run, builds(run));
    expect(approved.actions[0]!.decision!.signature).to.include({ principal: 'mira@example.org' });
    const shown = await world.command(['actions', run.run_id, '1']);
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).to.contain('approved by mira, signed by mira@example.org');
    policy({ require_signature: true });
    expect(outcomeOf(await executed(run), 'create_branch')).to.include({ code: 'signature_invalid' });
  });

  it('a key that is removed after the approval no longer counts, and the record holds with the keys of then', async () => {
    const run = await planned();
    await decideSigned(run, builds(run));
    const earlier = join(temporaryFolder(), 'allowed_signers');
    cpSync(signersFile, earlier);
    allowSigners(signersFile, [{ principal: 'mira', signer: mallory }]);
    const refused = await executed(run);
    expect(outcomeOf(refused, 'create_branch')).to.include({ code: 'signature_invalid' });
    expect(statesOf(refused)).to.include({ create_branch: 'refused' });
    expect(branch(run)).to.equal('');
    expect((await verified(run)).problems).to.have.length(builds(run).length);
    expect((await verified(run, earlier)).problems).to.deep.equal([]);
  });

  it('a key that expired since no longer counts, and the record holds by the time of the signature', async () => {
    const run = await planned();
    await decideSigned(run, builds(run));
    const { signed_at } = (await world.agent.run(run.run_id)).actions[0]!.decision!.signature!;
    await new Promise((resolve) => setTimeout(resolve, 2100));
    const end = new Date(Date.parse(signed_at) + 1000);
    const local = execFileSync('date', ['-d', end.toISOString(), '+%Y%m%d%H%M%S'], {
      encoding: 'utf8',
    }).trim();
    const options = `valid-before="${local}"`;
    allowSigners(signersFile, [{ principal: 'mira', signer, options }]);
    expect(outcomeOf(await executed(run), 'create_branch').message).to.contain('expired');
    expect((await verified(run)).problems).to.deep.equal([]);
  });

  describe('where a rule asks for them', () => {
    const jo: Person = { name: 'jo', scopes };
    const rule = { name: 'signed by two', gates: ['build'], approvers: 2, require_signature: true };

    function ruled(): void {
      const document = { approval: { rules: [rule] }, people: { mira: {}, jo: {} } };
      writeFileSync(join(world.home, 'config/policy.json'), JSON.stringify(document));
      allowSigners(signersFile, [
        { principal: 'mira', signer },
        { principal: 'jo', signer: mallory },
      ]);
    }

    it('count those alone, also of the second person, and at the execution by the keys of then', async () => {
      ruled();
      const run = await planned();
      const actions = builds(run).map(seen);
      const common = {
        run_id: run.run_id,
        decision: 'approve',
        reason: null,
        claimed_approver: null,
      } as const;
      expect(await failure(world.agent.decide({ ...common, actions, by: mira }))).to.include({
        code: 'signature_required',
        status: 422,
      });
      const one = await decideSigned(run, builds(run));
      expect(one.actions[0]!.approval).to.equal('required');
      const two = await decideSigned(one, builds(one), { by: jo, key: mallory });
      expect(two.actions[0]!.approval).to.equal('approved');
      allowSigners(signersFile, [{ principal: 'mira', signer }]);
      const refused = await executed(two);
      expect(outcomeOf(refused, 'create_branch')).to.include({ code: 'signature_invalid' });
      expect(outcomeOf(refused, 'create_branch').message).to.contain('approved by 1 of 2');
      ruled();
      const done = await executed(two);
      expect(done.actions[0]!.state).to.equal('succeeded');
      expect((await verified(done)).problems).to.deep.equal([]);
    });
  });

  describe('whoever can write into the state folder', () => {
    /** Writes events with a valid chain and head, by a plain SQLite client. */
    function forge(run: Run, events: readonly NewEvent[]): void {
      const state = join(world.home, 'state');
      const at = new Date().toISOString();
      const { lines } = writeLines(run.head, at, events);
      const client = new DatabaseSync(join(state, agentdSchema.file));
      const insert = client.prepare('INSERT INTO run_events VALUES (?, ?, ?, ?, ?)');
      for (const line of lines)
        insert.run(run.run_id, line.seq, lineOf(line).slice(0, -1), line.prev, line.hash);
      const { seq, hash, type } = lines.at(-1)!;
      client
        .prepare('UPDATE runs SET seq = ?, hash = ?, type = ? WHERE run_id = ?')
        .run(seq, hash, type, run.run_id);
      client.close();
    }

    function approvals(run: Run, change: (action: ActionState) => Partial<Approval>): NewEvent[] {
      const at = new Date().toISOString();
      const expires_at = new Date(Date.now() + 86_400_000).toISOString();
      return run.actions.map((action) => {
        const { action_id, digest } = action.definition;
        const none = { claimed_approver: null, reason: null, signature: undefined };
        const unruled = { token: undefined, account: undefined, person: undefined, standing: undefined };
        const approval = {
          decision: 'approve',
          approver: 'mira',
          digest,
          at,
          expires_at,
          ...none,
          ...unruled,
        } as const;
        return {
          type: 'approval_recorded',
          data: { action_id, approval: { ...approval, ...change(action) } },
        };
      });
    }

    async function expectRefused(run: Run, code: string, what: RegExp): Promise<void> {
      const done = await executed(run);
      expect(outcomeOf(done, 'create_branch')).to.include({ code });
      expect(done.actions.map(({ state }) => state)).to.not.include('succeeded');
      expect(branch(run)).to.equal('');
      const { problems } = await verified(run);
      expect(problems.map(({ what: text }) => text).join('\n')).to.match(what);
    }

    it('forges no yes without a signature: execution and verify refuse it', async () => {
      const run = await planned();
      forge(
        run,
        approvals(run, () => ({})),
      );
      expect((await world.agent.run(run.run_id)).actions[0]!.approval).to.equal('approved');
      await expectRefused(run, 'signature_required', /is not signed \(approval\.require_signature/);
    });

    it('forges no yes with a signature of their own', async () => {
      const run = await planned();
      const at = new Date().toISOString();
      const expires_at = new Date(Date.now() + 86_400_000).toISOString();
      forge(
        run,
        approvals(run, (action) => ({
          expires_at,
          signature: {
            value: signatureOf(textOf(run, action, at, expires_at), mallory),
            signed_at: at,
            principal: 'mira',
            key: fingerprint(signer),
          },
        })),
      );
      await expectRefused(run, 'signature_invalid', /does not hold/);
    });

    it('makes no signature look like that of another person or key', async () => {
      for (const claim of [{ principal: 'the-owner' }, { key: 'SHA256:other' }]) {
        const run = await planned();
        const at = new Date().toISOString();
        const expires_at = new Date(Date.now() + 86_400_000).toISOString();
        const common = { signed_at: at, principal: 'mira', key: fingerprint(signer), ...claim };
        forge(
          run,
          approvals(run, (action) => {
            const value = signatureOf(textOf(run, action, at, expires_at), signer);
            return { expires_at, signature: { ...common, value } };
          }),
        );
        await expectRefused(run, 'signature_invalid', /the record names (the-owner|the key SHA256:other)/);
      }
    });

    it('makes no yes of one that is for another action, run or time', async () => {
      const other = await planned();
      const approved = await decideSigned(other, other.actions);
      const run = await planned();
      forge(
        run,
        approvals(run, ({ definition: { ordinal } }) => {
          const { at, expires_at, signature } = approved.actions[ordinal - 1]!.decision!;
          return { at, expires_at, signature };
        }),
      );
      await expectRefused(run, 'signature_invalid', /does not hold/);
      const prolonged = new Date(Date.now() + 300 * 86_400_000).toISOString();
      const [first] = approved.actions as [ActionState];
      forge(approved, [
        {
          type: 'approval_recorded',
          data: {
            action_id: first.definition.action_id,
            approval: { ...first.decision!, expires_at: prolonged },
          },
        },
      ]);
      await expectRefused(approved, 'signature_invalid', /does not hold/);
    });

    it('repeats no yes long after it was signed', async () => {
      const run = await planned();
      const hour = new Date(Date.now() - 3_600_000).toISOString();
      const expires_at = new Date(Date.now() + 86_400_000).toISOString();
      forge(
        run,
        approvals(run, (action) => ({
          expires_at,
          signature: {
            value: signatureOf(textOf(run, action, hour, expires_at), signer),
            signed_at: hour,
            principal: 'mira',
            key: fingerprint(signer),
          },
        })),
      );
      await expectRefused(run, 'signature_time', /was signed at/);
    });
  });

  describe('on the command line', () => {
    let own: string;

    before(async () => {
      await world.command(['runs']);
      const config = join(world.home, 'config');
      const services = await openServices({ home: world.home });
      own = (await services.person()).name;
      await services.close();
      expect(ownToken({ tokens: join(config, 'tokens') } as never).name).to.equal(own);
    });

    beforeEach(() => allowSigners(signersFile, [{ principal: own, signer }]));

    it('approve --sign signs with --key, and show says by whom', async () => {
      const run = await planned();
      const refused = await world.command(['approve', run.run_id, '--gate', 'build']);
      expect(refused.code).to.equal(3);
      expect(refused.stderr).to.contain('approve --sign');
      const { code, stderr } = await world.command([
        ...['approve', run.run_id, '--gate', 'build', '--sign', '--key', signer.key],
      ]);
      expect(code, stderr).to.equal(0);
      const shown = await world.command(['actions', run.run_id, '1']);
      expect(shown.stdout.replaceAll(/\s+/g, ' ')).to.contain(`approved by ${own}, signed`);
      const checked = await world.command(['verify', run.run_id]);
      expect(checked.code, checked.stdout).to.equal(0);
      expect(checked.stdout.replaceAll(/\s+/g, ' ')).to.contain(
        `signed by ${own} with ${fingerprint(signer)}`,
      );
    });

    it('reject --sign too', async () => {
      const run = await planned();
      const { code, stderr } = await world.command([
        ...['reject', run.run_id, '--all', '--reason', 'no', '--sign', '--key', signer.key],
      ]);
      expect(code, stderr).to.equal(0);
      const { decision } = (await world.agent.run(run.run_id)).actions[0]!;
      expect(decision).to.include({ decision: 'reject', expires_at: null });
      expect(decision!.signature).to.include({ principal: own });
    });

    it('approves what has the digest that was copied, and nothing else', async () => {
      const run = await planned();
      const [first] = run.actions as [ActionState];
      const { action_id, digest } = first.definition;
      const sign = ['--sign', '--key', signer.key];
      const args = (named: string) => [
        'approve',
        '--run-id',
        run.run_id,
        action_id,
        '--digest',
        named,
        ...sign,
      ];
      const refused = await world.command(args('0'.repeat(64)));
      expect(refused.code).to.equal(3);
      expect(refused.stderr).to.contain(digest);
      const { code, stderr } = await world.command(args(digest));
      expect(code, stderr).to.equal(0);
    });

    for (const [point, approved] of [
      ['decision.checked', 'required'],
      ['decision.recorded', 'approved'],
    ] as const) {
      it(`leaves a whole record when it is killed at ${point}, and can be repeated`, async () => {
        const run = await planned();
        const args = ['approve', run.run_id, '--gate', 'build', '--sign', '--key', signer.key];
        const killed = await world.command(args, { CORE_CRASH_AT: point });
        expect(killed.signal, killed.stderr).to.equal('SIGKILL');
        const states = builds(await world.agent.run(run.run_id)).map(({ approval }) => approval);
        expect(new Set(states)).to.deep.equal(new Set([approved]));
        expect((await verified(run)).problems).to.deep.equal([]);
        const again = await world.command(args);
        expect(again.code, again.stderr).to.equal(0);
        expect((await verified(run)).problems).to.deep.equal([]);
      });
    }

    it('prints a signed request for a daemon elsewhere, and decides nothing', async () => {
      const run = await planned();
      const { action_id, digest } = run.actions[0]!.definition;
      const args = ['approve', run.run_id, action_id, '--digest', digest, '--sign', '--key', signer.key];
      const { code, stdout, stderr } = await world.command([...args, '--as', own]);
      expect(code, stderr).to.equal(0);
      expect((await world.agent.run(run.run_id)).actions[0]!.approval).to.equal('required');
      const { signature } = decode(ApprovalBody, JSON.parse(stdout), 'body');
      const by = { name: own, scopes };
      const common = { run_id: run.run_id, reason: null, claimed_approver: null, by };
      const actions = [{ action_id, digest, signature: signature! }];
      const decided = await world.agent.decide({ ...common, decision: 'approve', actions });
      expect(decided.actions[0]!.decision!.signature).to.include({ principal: own });
      const [, second] = run.actions;
      const two = [second!, run.actions[2]!].map(({ definition }) => definition);
      const both = [...two.map((one) => one.action_id), ...two.flatMap((one) => ['--digest', one.digest])];
      const lines = await world.command(
        ['approve', run.run_id, ...both, '--sign', '--key', signer.key, '--as', own],
        {},
      );
      const digests = lines.stdout
        .trim()
        .split('\n')
        .map((line) => decode(ApprovalBody, JSON.parse(line), 'body').digest);
      expect(digests, lines.stderr).to.deep.equal(two.map((one) => one.digest));
      const incomplete = await world.command(['approve', run.run_id, '1', '--sign', '--as', own]);
      expect(incomplete.code).to.equal(2);
      expect(incomplete.stderr).to.contain('--as needs --sign');
    });

    it('takes the key from core.json, else from git, and says the choices where there is none', async () => {
      const run = await planned();
      const home = temporaryFolder();
      const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config') };
      const approve = (name: string) =>
        world.command(['approve', run.run_id, name, '--sign'], env, temporaryFolder());
      const none = await approve('1');
      expect(none.code).to.equal(2);
      expect(none.stderr).to.contain('--key').and.contain('signing.key').and.contain('user.signingkey');
      writeFileSync(join(home, '.gitconfig'), `[user]\n\tsigningkey = ${signer.key}.pub\n`);
      const byGit = await approve('1');
      expect(byGit.code, byGit.stderr).to.equal(0);
      const settings = join(world.home, 'config/core.json');
      const before = readFileSync(settings);
      writeFileSync(
        settings,
        JSON.stringify({ ...JSON.parse(String(before)), signing: { key: mallory.key } }),
      );
      const byCore = await approve('2');
      writeFileSync(settings, before);
      expect(byCore.code).to.equal(3);
      expect(byCore.stderr).to.contain('signature');
    });

    it('signs by the ssh-agent, which alone has the private key', async () => {
      const folder = temporaryFolder();
      const socket = join(folder, 'agent');
      const out = execFileSync('ssh-agent', ['-s', '-a', socket], { encoding: 'utf8' });
      const pid = Number(/SSH_AGENT_PID=(\d+)/.exec(out)![1]);
      try {
        const env = { SSH_AUTH_SOCK: socket };
        execFileSync('ssh-add', ['-q', signer.key], { env: { ...process.env, ...env }, stdio: 'ignore' });
        const run = await planned();
        mkdirSync(join(folder, 'keys'));
        const publicOnly = join(folder, 'keys/id.pub');
        writeFileSync(publicOnly, `${signer.publicKey}\n`);
        for (const [name, key] of [
          ['1', publicOnly],
          ['2', signer.publicKey],
        ] as const) {
          const { code, stderr } = await world.command(
            ['approve', run.run_id, name, '--sign', '--key', key],
            env,
          );
          expect(code, stderr).to.equal(0);
        }
        const without = await world.command(['approve', run.run_id, '3', '--sign', '--key', publicOnly], {
          SSH_AUTH_SOCK: join(folder, 'none'),
        });
        expect(without.code).to.equal(3);
        expect(without.stderr).to.contain('ssh-add -l');
      } finally {
        process.kill(pid);
      }
    });

    it('says what is missing where there is no ssh-keygen', async () => {
      const run = await planned();
      const bin = temporaryFolder();
      for (const program of ['git', 'node', 'env', 'sh', 'bash', 'dirname', 'readlink', 'uname'])
        execFileSync('sh', ['-c', `p=$(command -v ${program}) && ln -s "$p" "${bin}/" || true`]);
      const { code, stderr } = await world.command(
        ['approve', run.run_id, '1', '--sign', '--key', signer.key],
        { PATH: bin },
      );
      expect(code, stderr).to.equal(1);
      expect(stderr).to.contain('ssh-keygen').and.contain('openssh-client');
    });
  });

  function textOf(run: Run, { definition }: ActionState, signed_at: string, expires_at: string): string {
    const { action_id, digest } = definition;
    const facts = { run_id: run.run_id, action_id, digest, decision: 'approve', approver: 'mira' } as const;
    return approvalText({ ...facts, signed_at, expires_at });
  }

  function signatureOf(text: string, { key }: Signer): string {
    return execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', 'core-approval'], {
      input: text,
      encoding: 'utf8',
    });
  }

  function fingerprint({ key }: Signer): string {
    return execFileSync('ssh-keygen', ['-lf', `${key}.pub`], { encoding: 'utf8' }).split(' ')[1]!;
  }
});
