import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { tokenNameFor } from '#kit/tokens/token.ts';
import { allowSigners, newSigner } from '../fixtures/signing/signer.ts';
import { TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { greetPatch, helloFiles, makeWorld, type World } from '../fixtures/world/world.ts';
import { describeWith, itWith } from '../needs.ts';

describeWith(['tmux'], 'An issue, gate by gate', () => {
  let world: World;
  let terminal: TmuxTerminal | null = null;

  beforeEach(async () => {
    // Names no file of the change, which would make it critical.
    const check = { validation: { commands: [{ name: 'check', run: 'grep -rq stranger src' }] } };
    world = await makeWorld({ vcs: 'git', files: { ...helloFiles, '.core.json': JSON.stringify(check) } });
    await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
  });
  afterEach(async () => {
    terminal?.close();
    terminal = null;
    await world.close();
  });

  function run(env: Readonly<Record<string, string>> = {}, args: readonly string[] = ['run', '1']) {
    terminal?.close();
    terminal = new TmuxTerminal({
      args: [...args, '--home', world.home],
      cwd: world.checkout.dir,
      columns: 80,
      env,
    });
    return terminal;
  }

  it('goes from plan to pull request, with a question at each gate', async () => {
    const shown = run({ PAGER: 'sed s/^/paged:/' });
    const asked = await shown.shows('The gate build', 'approve and execute');
    expect(asked).to.contain('paged:+Who gives no name is greeted as a stranger.');
    shown.keys('Enter');
    await shown.shows(/delivered as\s+core\/1-/, 'The gate publish', '❯ stop here');
    expect(world.remote.git('branch', '--list', 'core/*')).to.equal('');
    shown.keys('Up', 'Up', 'Up', 'Up');
    await shown.shows('❯ approve and execute (others');
    shown.keys('Enter');
    await shown.shows('ended with 0', 'completed', 'comment_issue');
    expect(world.remote.git('branch', '--list', 'core/*')).to.contain('core/1-');
    expect(world.checkout.git('branch', '--list', 'core/*')).to.contain('core/1-');
  });

  it('approves what is of critical risk only by its word, and never by Enter alone', async () => {
    const policy = '{"risk": {"critical_paths": ["src/**"]}}';
    writeFileSync(join(world.home, 'config/policy.json'), policy);
    const shown = run({ PAGER: 'cat' });
    await shown.shows('The gate build', '❯ stop here');
    shown.keys('Up', 'Up', 'Up', 'Up');
    await shown.shows('❯ approve and execute');
    shown.keys('Enter');
    await shown.shows('Critical risk: 2 apply_patch', 'Type approve to approve');
    shown.type('y');
    shown.keys('Enter');
    await shown.shows("type the word 'approve'");
    const waiting = async () => (await world.agent.runs({ limit: 1 })).runs[0];
    expect((await waiting())?.waiting).to.equal((await waiting())?.actions);
    shown.keys('BSpace');
    shown.type('Approve');
    shown.keys('Enter');
    await shown.shows(/delivered as\s+core\/1-/, 'The gate publish');
  });

  it('says at Ctrl-C how to go on, runs nothing, and goes on there', async () => {
    const shown = run({ PAGER: 'cat' });
    await shown.shows('The gate build', 'approve and execute');
    shown.keys('C-c');
    const stopped = await shown.shows('ended with 130', 'go on where it was');
    expect(stopped.replaceAll('\n', '')).to.contain(` run 1 --home ${world.home}`);
    const [only, ...others] = (await world.agent.runs({ limit: 10 })).runs;
    expect(others).to.deep.equal([]);
    expect(only?.waiting).to.equal(only?.actions);

    const again = run({ PAGER: 'cat' });
    await again.shows('The gate build', 'approve and execute');
    expect((await world.agent.runs({ limit: 10 })).runs).to.have.length(1);
  });

  itWith(
    ['ssh'],
    'signs what is approved with --sign, asking once for the passphrase of the key',
    async () => {
      const signer = newSigner('a long secret');
      const person = tokenNameFor(userInfo().username);
      allowSigners(join(world.home, 'config/allowed_signers'), [{ principal: person, signer }]);
      const policy = '{"approval": {"require_signature": true}}';
      writeFileSync(join(world.home, 'config/policy.json'), policy);
      const shown = run({ PAGER: 'cat' }, ['run', '1', '--sign', '--key', signer.key]);
      await shown.shows('The gate build', 'approve and execute');
      shown.keys('Enter');
      await shown.shows('signing 4 decisions with', 'Enter passphrase');
      shown.type('a long secret');
      shown.keys('Enter');
      await shown.shows(/delivered as\s+core\/1-/, 'The gate publish');
      const [only] = (await world.agent.runs({ limit: 1 })).runs;
      const { approvals, problems } = await world.agent.verify(only!.run_id);
      expect(problems).to.deep.equal([]);
      expect(approvals.map(({ signature }) => signature?.principal)).to.deep.equal(Array(4).fill(person));
    },
  );

  it('takes a task in place of an issue, which goes on by its run', async () => {
    const task = `Greet strangers\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
    const shown = run({ PAGER: 'cat' }, ['run', '--task', task]);
    await shown.shows('The gate build', 'approve and execute');
    shown.keys('C-c');
    const stopped = await shown.shows('ended with 130', 'go on where it was');
    const [name] = /run run_[0-9a-f-]+/.exec(stopped.replaceAll('\n', '')) ?? [];
    expect(name).to.be.a('string');
    const again = run({ PAGER: 'cat' }, name!.split(' '));
    await again.shows('The gate build', 'approve and execute');
    again.keys('Enter');
    await again.shows(/delivered as\s+core\/task-greet-strangers/, 'The gate publish');
    const { runs } = await world.agent.runs({ limit: 10 });
    expect(runs.map(({ number, title }) => [number, title])).to.deep.equal([[null, 'Greet strangers']]);
  });

  it('goes on after a crash with what was approved, without planning again', async () => {
    const crashed = run({ PAGER: 'cat', CORE_CRASH_AT: 'execute.started' });
    await crashed.shows('The gate build', 'approve and execute');
    crashed.keys('Enter');
    await crashed.shows('ended with 137');
    const again = run({ PAGER: 'cat' });
    await again.shows('was interrupted', 'Go on with what you approved?');
    again.keys('Enter');
    await again.shows(/delivered as\s+core\/1-/, 'The gate publish');
    expect((await world.agent.runs({ limit: 10 })).runs).to.have.length(1);
  });

  it('offers to plan again where the validation failed before', async () => {
    const validation = {
      sandbox: 'none',
      allow_unsandboxed: true,
      default: { prepare: [], commands: [{ name: 'test', run: 'echo no luck; false' }] },
    };
    writeFileSync(join(world.home, 'config/validation.json'), JSON.stringify(validation));
    const failed = run({ PAGER: 'cat' });
    await failed.shows('The gate build', 'approve and execute');
    failed.keys('Enter');
    await failed.shows('no luck', 'ended with 1');

    const declined = run({ PAGER: 'cat' });
    await declined.shows('no luck', 'Plan the issue again?');
    declined.type('n');
    declined.keys('Enter');
    await declined.shows('ended with 3');
    expect((await world.agent.runs({ limit: 10 })).runs).to.have.length(1);

    const again = run({ PAGER: 'cat' });
    await again.shows('no luck', 'Plan the issue again?');
    again.keys('Enter');
    await again.shows('The gate build', 'approve and execute');
    expect((await world.agent.runs({ limit: 10 })).runs).to.have.length(2);
  });

  it('asks with ASCII alone where that is wanted', async () => {
    const shown = run({ PAGER: 'cat' }, ['run', '1', '--ascii']);
    const asked = await shown.shows(
      'The gate build',
      '> approve and execute',
      'up/down navigate, enter select',
    );
    expect(withoutOwnPath(asked)).to.match(/^[\x20-\x7e\n]*$/);
    shown.keys('Up');
    await shown.shows('> stop here');
    shown.keys('Enter');
    expect(withoutOwnPath(await shown.shows('ok The gate build', 'ended with 0'))).to.match(
      /^[\x20-\x7e\n]*$/,
    );
  });

  it('rejects with a reason, and ends', async () => {
    const shown = run({ PAGER: 'cat' });
    await shown.shows('The gate build', 'approve and execute');
    shown.keys('Down', 'Down', 'Down');
    await shown.shows('❯ reject');
    shown.keys('Enter');
    await shown.shows('Why?');
    shown.type('wrong file');
    shown.keys('Enter');
    await shown.shows(/ended with [13]/);
    const run_id = (await world.agent.runs({ limit: 1 })).runs[0]!.run_id;
    const { actions } = await world.agent.run(run_id);
    expect(actions[0]?.decision?.reason).to.equal('wrong file');
  });

  it('refuses without a terminal, and names the commands to type', async () => {
    const { code, stderr } = await world.command(['run', '1'], {}, world.checkout.dir);
    expect(code).to.equal(2);
    expect(stderr).to.contain('[no_terminal]');
    for (const command of ['plan-issue --owner', 'approve --run-id', 'execute-approved --run-id'])
      expect(stderr).to.contain(command);
    expect((await world.agent.runs({ limit: 1 })).runs).to.deep.equal([]);
  });

  it('connects a checkout to a new repository of the local forge once its owner agrees', async () => {
    const from = world.checkout.dir;
    const init = ['forge', 'init', '--owner', 'you', '--from', from, '--repo'];
    const asked = run({}, [...init, 'first']);
    await asked.shows("Add it as remote 'core'");
    expect(world.checkout.git('remote')).to.equal('origin');
    asked.type('n');
    asked.keys('Enter');
    await asked.shows('remote add core', 'ended with 0');
    expect(world.checkout.git('remote')).to.equal('origin');

    const agreed = run({}, [...init, 'second']);
    await agreed.shows("Add it as remote 'core'");
    agreed.keys('Enter');
    await agreed.shows('added to', 'delivers there too', 'ended with 0');
    expect(world.checkout.git('remote', 'get-url', 'core')).to.match(/you\/second\/repository\.git$/);
    // core-agentd can deliver there from now on.
    const settings = JSON.parse(readFileSync(join(world.home, 'config/core.json'), 'utf8'));
    expect(settings.agentd.checkouts.second).to.equal(world.checkout.dir);

    const here = await world.command(['forge', 'issue', 'list'], {}, from);
    expect(here.stdout, here.stderr).to.contain('you/second has no open issues');
    const half = await world.command(['forge', 'pr', 'list', '--repo', 'second'], {}, from);
    expect(half.stderr).to.contain('--repo needs --owner').and.to.contain('[repository_unclear]');
    const nowhere = await world.command(['forge', 'pr', 'list'], {}, world.home);
    expect(nowhere.stderr).to.contain('[repository_unclear]').and.to.contain('--owner NAME --repo NAME');

    const { code, stderr } = await world.command([...init, 'third', '--connect']);
    expect(stderr).to.contain('[remote_exists]').and.to.contain('you/second');
    expect(code).to.equal(3);
    const silent = await world.command([...init, 'fourth', '--json']);
    expect(JSON.parse(silent.stdout).connected).to.equal(false);
  });

  it('shows a diff in the pager, and not where it was declined or the output goes to a pipe', async () => {
    await world.plannedAndApproved();
    const PAGER = 'sed s/^/paged:/';
    await run({ PAGER }, ['diff', 'last']).shows('paged:diff --git');
    const printed = await run({ PAGER }, ['diff', 'last', '--no-pager']).shows('ended with 0');
    expect(printed).to.contain('diff --git').and.not.to.contain('paged:');
    const missing = await run({ PAGER: 'no-such-pager' }, ['diff', 'last']).shows('ended with 0');
    expect(missing).to.contain('diff --git');
    const piped = await world.command(['diff', 'last'], { PAGER });
    expect(piped.stdout).to.contain('diff --git').and.not.to.contain('paged:');
  });
});

/** Suggested commands name this checkout, whose path may hold any letter. */
function withoutOwnPath(text: string): string {
  return [...text]
    .filter((sign) => /[\x20-\x7e\n]/.test(sign) || !import.meta.filename.includes(sign))
    .join('');
}
