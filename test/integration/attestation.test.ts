import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { execa } from 'execa';
import { sha256 } from '#kit/digest.ts';
import { envelopeOf } from '../../services/agentd/attestation/envelope.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { asSqliteClient, tamper } from '../fixtures/runs/tamper.ts';
import { allowSigners, newSigner, type Signer } from '../fixtures/signing/signer.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(['git', 'ssh'], 'what others can check without Core', function () {
  this.timeout(300_000);
  let world: World;
  let signer: Signer;
  let run: Run;
  let own: string;
  let signersFile: string;
  const namespaces = 'namespaces="core-approval,core-attestation"';

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    signer = newSigner();
    signersFile = join(world.home, 'config/allowed_signers');
    const number = await world.newIssue(`Greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const planned = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    await done('reject', planned.run_id, '7', '--reason', 'says too much');
    own = (await world.agent.run(planned.run_id)).actions[6]!.decision!.approver;
    allowSigners(signersFile, [{ principal: own, signer, options: namespaces }]);
    const sign = ['--sign', '--key', signer.key];
    await done('approve', planned.run_id, '1', '2', '3', '4', '5', '6', ...sign);
    run = await world.agent.execute(
      {
        ...{ run_id: planned.run_id, repo_dir: world.checkout.dir, actions: null },
        ...{ dry_run: false, by: everybody },
      },
      quiet,
    );
    expect(run.actions.slice(0, 6).map(({ state }) => state)).to.deep.equal(Array(6).fill('succeeded'));
  });

  after(() => world?.close());

  async function done(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await world.command(args);
    expect(code, `${args.join(' ')}\n${stdout}${stderr}`).to.equal(0);
    return stdout;
  }

  interface Envelope {
    readonly payloadType: string;
    readonly payload: string;
    readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
  }

  const attested = async (...args: string[]): Promise<Envelope> =>
    JSON.parse(await done('attest', run.run_id, ...args));
  const payloadOf = ({ payload }: Envelope) => Buffer.from(payload, 'base64');

  async function checked(envelope: unknown, ...args: string[]) {
    const file = join(temporaryFolder(), 'attestation.json');
    writeFileSync(file, JSON.stringify(envelope));
    const { code, stdout, stderr } = await world.command(['attest', '--verify', file, '--json', ...args]);
    return { code, found: code === 0 || stdout !== '' ? JSON.parse(stdout) : JSON.parse(stderr) };
  }

  it('signatures --write prints commands that check each decision with ssh-keygen alone', async () => {
    const folder = join(temporaryFolder(), 'signed decisions');
    const { decisions } = JSON.parse(await done('signatures', run.run_id, '--write', folder, '--json'));
    expect(decisions).to.have.length(6);
    expect(readdirSync(folder)).to.have.length(12);
    const shown = await done('signatures', run.run_id, '--write', folder);
    for (const { command, text, action_id } of decisions) {
      expect(shown).to.contain(command);
      const { stdout } = await execa('sh', ['-c', command], { cwd: '/' });
      expect(stdout).to.match(new RegExp(`^Good "core-approval" signature for ${own} with ED25519 key`));
      expect(text).to.contain(`run ${run.run_id}\naction ${action_id}\n`);
    }
    const [{ command }] = decisions;
    const [, path] = /< '(.*)'$/.exec(command)!;
    writeFileSync(path!, readFileSync(path!, 'utf8').replace('approve', 'reject'));
    const changed = await execa('sh', ['-c', command], { cwd: '/', reject: false });
    expect(changed.exitCode).to.equal(255);
  });

  it('attest says what was planned, approved by whom, validated and published, about the commit', async () => {
    const envelope = await attested('--key', signer.key);
    const statement = JSON.parse(String(payloadOf(envelope)));
    const { commit } = run.actions[3]!.outcome!.facts;
    expect(statement).to.include({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: 'urn:x-core:run:v1',
    });
    expect(statement.subject).to.deep.equal([{ name: 'demo/hello', digest: { gitCommit: commit } }]);
    const { planned, approved, validated, published } = statement.predicate;
    expect(planned.actions.map((action: { digest: string }) => action.digest)).to.deep.equal(
      run.actions.map(({ definition }) => definition.digest),
    );
    expect(planned).to.include({ requested_by: 'tester', planner: 'patch', patch: run.plan!.patch });
    const yes = run.actions.slice(0, 6).map(({ decision }) => decision!.signature!.value);
    expect(
      approved.map((one: { signature: { value: string } | null }) => one.signature?.value),
    ).to.deep.equal([...yes, undefined]);
    expect(validated).to.include({ passed: true, report: run.actions[2]!.outcome!.facts.report });
    expect(validated.commands[0]).to.include({ run: 'grep -q stranger src/greet.js', exit_code: 0 });
    expect(published.commit).to.equal(commit);
    expect(published.pushed.branch).to.equal(run.plan!.target.branch);
    expect(published.pull_request.number).to.equal(run.actions[5]!.outcome!.facts.number);
  });

  it('the pull request names the digest of the statement of what came before it', async () => {
    const number = Number(run.actions[5]!.outcome!.facts.number);
    const { pull } = await world.forgeAdmin.pullRequest(ref, number);
    const [, seq, digest] =
      /record at event (\d+), [^\n]*Its in-toto statement: sha256 `([0-9a-f]{64})`/.exec(pull.body)!;
    const before = payloadOf(await attested('--at', seq!, '--unsigned'));
    expect(sha256(before)).to.equal(digest);
    expect(pull.body).to.contain(`signed with \`${run.actions[0]!.decision!.signature!.key}\``);
    const { published, validated } = JSON.parse(String(before)).predicate;
    expect(published.pull_request).to.equal(null);
    expect(published.pushed.commit).to.equal(run.actions[3]!.outcome!.facts.commit);
    expect(validated.passed).to.equal(true);
  });

  it('is a DSSE envelope, whose signature ssh-keygen checks over the pre-authentication encoding', async () => {
    const envelope = await attested('--key', signer.key);
    const payload = payloadOf(envelope);
    const text = Buffer.concat([
      Buffer.from(`DSSEv1 28 application/vnd.in-toto+json ${payload.length} `),
      payload,
    ]);
    const file = join(temporaryFolder(), 'sig');
    const body = envelope.signatures[0]!.sig.replaceAll(/(.{70})/g, '$1\n');
    writeFileSync(file, `-----BEGIN SSH SIGNATURE-----\n${body}\n-----END SSH SIGNATURE-----\n`);
    const args = ['-Y', 'verify', '-f', signersFile, '-I', own, '-n', 'core-attestation', '-s', file];
    const said = execFileSync('ssh-keygen', args, { input: text, encoding: 'utf8' });
    expect(said).to.contain(envelope.signatures[0]!.keyid);
  });

  it('attest --verify checks its signature, those of the approvals, and the record', async () => {
    const { code, found } = await checked(await attested('--key', signer.key));
    expect(code, JSON.stringify(found)).to.equal(0);
    expect(found).to.include({ run_id: run.run_id, record: 'agrees' });
    expect(found.signed_by[0].principals).to.deep.equal([own]);
    expect(
      found.approvals.filter((one: { principal: string | null }) => one.principal === own),
    ).to.have.length(6);
    expect(found.problems).to.deep.equal([]);
  });

  it('attest --verify names what does not hold', async () => {
    const envelope = await attested('--key', signer.key);
    const text = String(payloadOf(envelope));
    const withPayload = (payload: string) => ({
      ...envelope,
      payload: Buffer.from(payload).toString('base64'),
    });
    const other = newSigner();
    const nobody = join(temporaryFolder(), 'allowed_signers');
    allowSigners(nobody, [{ principal: own, signer: other, options: namespaces }]);
    const approvalsOnly = join(temporaryFolder(), 'allowed_signers');
    allowSigners(approvalsOnly, [{ principal: own, signer, options: 'namespaces="core-approval"' }]);
    const resigned = (payload: string) => envelopeOf(payload, signer.key);
    const [action] = run.actions;
    const { key } = action!.decision!.signature!;
    const cases: [unknown, RegExp, string[]?][] = [
      [await attested('--unsigned'), /is not signed/],
      [
        withPayload(text.replace('"passed":true', '"passed":false')),
        /no signature of it.*says something else/s,
      ],
      [withPayload(text.replace(`"approver":"${own}"`, '"approver":"mallory"')), /the approval of act_1/],
      [await attested('--key', other.key), /which is not in/],
      [envelope, /which is not in.*for the namespace core-attestation/, ['--allowed-signers', approvalsOnly]],
      [envelope, /which is not in.*the approval of act_1/s, ['--allowed-signers', nobody]],
      [
        resigned(text.replaceAll(`"principal":"${own}"`, '"principal":"the-owner"')),
        /the approval of act_1\S+: the record names the-owner as who signed it, and it was/,
      ],
      [
        resigned(text.replaceAll(`"key":"${key}"`, '"key":"SHA256:other"')),
        /the approval of act_1\S+: the record names the key SHA256:other, and it was signed with SHA256:/,
      ],
      [
        resigned(planning(text, action!.definition.digest)),
        /the approval of act_1\S+ is for [0-9a-f]{12}, and planned was 0{12}/,
      ],
    ];
    for (const [changed, wanted, args = []] of cases) {
      const { code, found } = await checked(changed, ...args);
      expect(code).to.equal(1);
      expect(found.problems.join('\n')).to.match(wanted);
    }
    const broken = await checked({ payload: 'x' });
    expect(broken.code).to.equal(2);
  });

  /** The same statement with another action planned than the one that was approved. */
  function planning(text: string, digest: string): string {
    const statement = JSON.parse(text);
    for (const action of statement.predicate.planned.actions)
      if (action.digest === digest) action.digest = '0'.repeat(64);
    return JSON.stringify(statement);
  }

  it('attest --verify names approvals without a signature where the policy requires them', async () => {
    const policyFile = join(world.home, 'config/policy.json');
    const envelope = await attested('--key', signer.key);
    const statement = JSON.parse(String(payloadOf(envelope)));
    statement.predicate.approved[0].signature = null;
    const unsigned = envelopeOf(JSON.stringify(statement), signer.key);
    writeFileSync(policyFile, '{ "approval": { "require_signature": true } }');
    const { code, found } = await checked(unsigned);
    const good = await checked(envelope);
    rmSync(policyFile);
    expect(code).to.equal(1);
    expect(found.problems.join()).to.match(/the approval of act_1\S+ by \S+ is not signed/);
    expect(good.found.problems).to.deep.equal([]);
  });

  it('nothing is attested of a record that was altered', async () => {
    const state = join(world.home, 'state');
    const { run_id } = run;
    const report = String(run.actions[2]!.outcome!.facts.report);
    const rows = asSqliteClient(state, (client) => ({
      events: client.prepare('SELECT * FROM run_events WHERE run_id = ?').all(run_id),
      artifact: client.prepare('SELECT content FROM run_artifacts WHERE digest = ?').get(report)!,
    }));
    const changes: [string, readonly (string | number)[], string][] = [
      [
        `UPDATE run_events SET line = replace(line, '"approver":"', '"approver":"x') WHERE run_id = ?`,
        [run_id],
        'run_damaged',
      ],
      ['DELETE FROM run_events WHERE run_id = ? AND seq > ?', [run_id, rows.events.length - 1], 'record_cut'],
      [
        `UPDATE run_artifacts SET content = CAST(content || ' ' AS BLOB) WHERE digest = ?`,
        [report],
        'artifact_damaged',
      ],
    ];
    for (const [statement, values, why] of changes) {
      expect(tamper(state, statement, ...values)).to.be.at.least(1);
      const { code, stdout, stderr } = await world.command(['attest', run.run_id, '--unsigned']);
      asSqliteClient(state, (client) => {
        client.prepare('DELETE FROM run_events WHERE run_id = ?').run(run_id);
        const insert = client.prepare(
          'INSERT INTO run_events (run_id, seq, line, prev, hash) VALUES (?, ?, ?, ?, ?)',
        );
        for (const { seq, line, prev, hash } of rows.events) insert.run(run_id, seq!, line!, prev!, hash!);
        client
          .prepare('UPDATE run_artifacts SET content = ? WHERE digest = ?')
          .run(rows.artifact.content!, report);
      });
      expect([stdout, code === 0, stderr.includes(why)], stderr).to.deep.equal(['', false, true]);
    }
    await attested('--unsigned');
  });

  it('there is nothing to attest before there is a commit', async () => {
    const number = await world.newIssue(`Greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const planned = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    const { code, stderr } = await world.command(['attest', planned.run_id, '--unsigned']);
    expect(code).to.equal(3);
    expect(stderr).to.contain('nothing_to_attest');
    const late = await world.command(['attest', run.run_id, '--unsigned', '--at', '9999']);
    expect(late.code).to.equal(2);
    expect(await done('signatures', planned.run_id)).to.contain('no decision of this run is signed');
  });
});
