import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import type { CoreError } from '#kit/errors.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { makeRepository, repositoryAt, type TestRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { differences, fingerprint } from '../fixtures/world/fingerprint.ts';
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

describeWith(['time'], 'what a repository may be', () => {
  let world: World;
  let count = 0;

  before(async () => {
    world = await makeWorld();
    allowUnsandboxed(world);
  });
  after(() => world?.close());

  function placeOf(source: TestRepository, cloneArgs: readonly string[] = []): Promise<Place> {
    count += 1;
    return makePlace(world, `repo-${count}`, source, cloneArgs);
  }

  async function planned(place: Place): Promise<Run> {
    const run = await place.plan(issueWith(greetPatch));
    return world.approve(run);
  }

  /** From issue to pull request and back; only the delivered branch may ever be seen in the checkout. */
  async function expectRoundTrip(place: Place, dir = place.checkout.dir): Promise<Run> {
    const branches = place.remoteBranches();
    const run = await place.execute(await planned(place), dir);
    const branch = run.plan!.target.branch!;
    expect(
      Object.values(statesOf(run)),
      JSON.stringify(run.actions.map(({ outcome }) => outcome)),
    ).to.deep.equal(Array(7).fill('succeeded'));
    expect(place.remote.git('rev-parse', `${branch}^{tree}`)).to.equal(run.plan!.target.tree);
    expect(place.checkout.git('rev-parse', branch)).to.equal(place.remote.git('rev-parse', branch));
    expect(place.checkout.git('show', `${branch}:src/greet.js`)).to.contain('stranger');
    expect(place.changes().filter((line) => line !== '+ .git/refs/heads/core')).to.deep.equal([
      `+ .git/refs/heads/${branch}`,
    ]);
    await expectVerified(world, run);
    const undone = await place.undo(run);
    expect(undone.status).to.equal('undone');
    expect(place.remoteBranches()).to.deep.equal(branches);
    expect(place.changes().filter((line) => line !== '+ .git/refs/heads/core')).to.deep.equal([]);
    return run;
  }

  it('keeps a detached HEAD, staged, unstaged and foreign files, and a merge in progress', async () => {
    const place = await placeOf(makeRepository({ ...files, 'both.txt': 'base\n' }));
    const { checkout } = place;
    checkout.git('checkout', '-q', '--detach');
    checkout.git('checkout', '-q', '-b', 'theirs');
    checkout.commit({ 'both.txt': 'theirs\n' });
    checkout.git('checkout', '-q', '--detach', 'main');
    checkout.commit({ 'both.txt': 'ours\n' });
    expect(() => checkout.git('merge', 'theirs')).to.throw();
    writeFileSync(join(checkout.dir, 'src/greet.js'), 'unstaged work\n');
    writeFileSync(join(checkout.dir, 'staged.txt'), 'staged work\n');
    checkout.git('add', 'staged.txt');
    writeFileSync(join(checkout.dir, 'foreign.txt'), 'untracked\n');
    mkdirSync(join(checkout.dir, '.git/hooks'), { recursive: true });
    place.accept();
    await expectRoundTrip(place);
    expect(checkout.git('status', '--porcelain')).to.match(/^(AA|UU) both\.txt$/m);
  });

  it('delivers to a checkout without a commit', async () => {
    const place = await placeOf(makeRepository(files));
    const { dir } = place.checkout;
    rmSync(dir, { recursive: true });
    execFileSync('git', ['init', '-q', '-b', 'unborn', dir]);
    place.checkout.git('remote', 'add', 'forge', place.remote.dir);
    place.accept();
    await expectRoundTrip(place);
  });

  it('delivers to a shallow checkout, also one older than the base, and leaves it as shallow as it was', async () => {
    const source = makeRepository(files);
    for (const text of ['a\n', 'b\n']) source.commit({ 'more.txt': text });
    const place = await placeOf(source, ['--depth', '1']);
    await expectRoundTrip(place);
    source.commit({ 'more.txt': 'newer\n' });
    source.git('push', '-q', place.remote.dir, 'main');
    const run = await expectRoundTrip(place);
    expect(run.plan!.target.base_commit).to.equal(source.git('rev-parse', 'main'));
    place.checkout.git('fsck', '--connectivity-only');
  });

  it('delivers to partial clones without fetching what they left out', async () => {
    for (const filter of ['blob:none', 'tree:0']) {
      const source = makeRepository(files);
      source.commit({ 'more.txt': 'a\n' });
      const place = await placeOf(source, [`--filter=${filter}`, '--no-checkout']);
      await expectRoundTrip(place);
    }
  });

  it('works with a forge whose repository is shallow itself', async () => {
    const source = makeRepository(files);
    source.commit({ 'more.txt': 'a\n' });
    const place = await placeOf(source, ['--depth', '1']);
    rmSync(place.remote.dir, { recursive: true });
    execFileSync('git', ['clone', '-q', '--bare', '--depth', '1', `file://${source.dir}`, place.remote.dir]);
    await expectRoundTrip(place);
  });

  it('refuses to make a forge repository of a shallow clone, and says how to complete it', async () => {
    const source = makeRepository(files);
    source.commit({ 'more.txt': 'a\n' });
    const dir = join(temporaryFolder(), 'shallow');
    execFileSync('git', ['clone', '-q', '--depth', '1', `file://${source.dir}`, dir]);
    const { code, stderr } = await world.command([
      'forge',
      'init',
      '--owner',
      'demo',
      '--repo',
      'shallow',
      '--from',
      dir,
    ]);
    expect(stderr).to.contain('source_is_shallow').and.to.contain('--unshallow');
    expect(code).to.equal(2);
  });

  it('keeps submodules, and looks into none', async () => {
    const inner = makeRepository({ 'x.txt': 'x\n' });
    const source = makeRepository(files);
    source.git('submodule', '--quiet', 'add', inner.dir, 'vendored');
    source.commit({});
    const place = await placeOf(source);
    const run = await expectRoundTrip(place);
    expect(run.workspace!.vcs.kind).to.equal('git');
  });

  it('keeps LFS pointers as the files that they are', async () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`;
    const source = makeRepository({
      ...files,
      '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
      'big.bin': pointer,
    });
    const run = await expectRoundTrip(await placeOf(source));
    expect(run.workspace!.vcs.kind).to.equal('git');
  });

  it('takes a linked work tree and a folder inside the checkout for --repo-dir', async () => {
    const place = await placeOf(makeRepository(files));
    const linked = join(temporaryFolder(), 'linked');
    place.checkout.git('worktree', 'add', '-q', '--detach', linked);
    place.accept();
    const before = fingerprint(linked);
    await expectRoundTrip(place, linked);
    await expectRoundTrip(place, join(place.checkout.dir, 'src'));
    expect(differences(before, fingerprint(linked))).to.deep.equal([]);
  });

  it('works with a repository of SHA-256 objects', async () => {
    const dir = join(temporaryFolder(), 'sha256');
    execFileSync('git', ['init', '-q', '-b', 'main', '--object-format=sha256', dir]);
    const source = repositoryAt(dir, join(dir, '.git'));
    source.commit(files);
    await expectRoundTrip(await placeOf(source));
  });

  it('works with a default branch, files and folders of unusual names', async () => {
    const source = makeRepository(files);
    source.commit({ ' -x/"quoted"\n.txt': 'x\n', ':(top)': 'x\n' });
    writeFileSync(Buffer.concat([Buffer.from(`${source.dir}/`), Buffer.from([0x66, 0xfc, 0xff])]), 'latin\n');
    source.commit({});
    source.git('branch', '-m', 'main', "entwicklung/grün'$(x)");
    await expectRoundTrip(await placeOf(source));
  });

  it('works with attributes in the tree that name filters, encodings and line ends', async () => {
    const source = makeRepository({
      ...files,
      '.gitattributes':
        '* text=auto eol=crlf filter=evil ident diff=evil merge=evil\n*.u16 working-tree-encoding=UTF-16\n',
      'id.txt': '$Id$\r\n',
      'wide.u16': Buffer.from('\ufeffwide\n', 'utf16le'),
    });
    await expectRoundTrip(await placeOf(source, ['--no-checkout']));
  });

  it('refuses a repository without a commit, and a default branch without one', async () => {
    const owner = 'demo';
    await world.forgeAdmin.init({ owner, repo: 'empty', from: null });
    const issue = { title: 'T', body: issueWith(greetPatch), author: 'mira', association: 'member' };
    await world.forgeAdmin.newIssue({ owner, repo: 'empty', ...issue });
    const ref = ['--owner', owner, '--repo', 'empty', '--number', '1'];
    const empty = await world.command(['plan-issue', ...ref]);
    expect(empty.stderr).to.contain('[repository_empty]');
    expect(empty.code).to.equal(3);

    const place = await placeOf(makeRepository(files));
    place.remote.git('branch', '-m', 'main', 'elsewhere');
    await world.forgeAdmin.newIssue({ owner, repo: place.repo, ...issue });
    const gone = await world.command(['plan-issue', '--owner', owner, '--repo', place.repo, '--number', '1']);
    expect(gone.stderr).to.contain("no commit on 'main'");
    expect(gone.code).to.equal(3);
  });

  it('refuses a checkout of another repository, names what was found, and builds on in the right one', async () => {
    const source = makeRepository(files);
    const place = await placeOf(source);
    const other = await placeOf(source);
    const run = await planned(place);
    const wrong = await refusalOf(place.execute(run, other.checkout.dir));
    expect(wrong.code).to.equal('remote_mismatch');
    expect(wrong.message).to.contain(other.remote.dir).and.to.contain(place.remote.dir);
    expect(other.changes()).to.deep.equal([]);
    expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
    await expectVerified(world, run);
    const command = await world.command(['execute-approved', run.run_id, '--repo-dir', other.checkout.dir]);
    expect(command.code).to.equal(3);
    const right = await place.execute(run);
    expect(right.status).to.equal('completed');
  });

  it('refuses a folder that is no repository or not there, for the commit', async () => {
    const place = await placeOf(makeRepository(files));
    const run = await planned(place);
    const nowhere = temporaryFolder();
    for (const [dir, code] of [
      [nowhere, 'not_a_repository'],
      [join(nowhere, 'absent'), 'checkout_not_found'],
    ] as const) {
      expect((await refusalOf(place.execute(run, dir))).code).to.equal(code);
    }
    expect(fingerprint(nowhere)).to.deep.equal({});
    expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
  });

  it('does not take the branch of the person that is in the way, nor the folder of their branch', async () => {
    const place = await placeOf(makeRepository(files));
    const run = await planned(place);
    const branch = run.plan!.target.branch!;
    place.checkout.git('branch', branch);
    place.accept();
    const first = await place.execute(run);
    expect(outcomeOf(first, 'commit').code).to.equal('ref_exists');
    expect(statesOf(first)).to.include({ commit: 'failed', push_branch: 'blocked' });
    expect(place.changes()).to.deep.equal([]);
    place.checkout.git('branch', '-D', branch);
    place.checkout.git('branch', 'core');
    rmSync(join(dirname(join(place.checkout.gitDir, 'refs/heads', branch))), {
      recursive: true,
      force: true,
    });
    place.checkout.git('branch', '-f', 'core');
    place.accept();
    const second = await place.execute(run);
    expect(outcomeOf(second, 'commit').code).to.equal('ref_exists');
    expect(outcomeOf(second, 'commit').message).to.contain("'refs/heads/core'");
    expect(place.changes()).to.deep.equal([]);
    place.checkout.git('branch', '-D', 'core');
    const third = await place.execute(run);
    expect(third.status).to.equal('completed');
    await expectVerified(world, third);
  });

  it('leaves the delivered branch that the person works on, and takes it back when they left it', async () => {
    const place = await placeOf(makeRepository(files));
    const run = await place.execute(await planned(place));
    const branch = run.plan!.target.branch!;
    place.checkout.git('checkout', '-q', branch);
    place.accept();
    const steps = await world.agent.undoPlan(run.run_id);
    expect(steps.find(({ kind }) => kind === 'commit')?.message).to.contain('switch to another branch there');
    const half = await place.undo(run);
    const found = half.undo!.results.find(({ message }) => message.includes('checked out'));
    expect(found?.state).to.equal('failed');
    expect(half.status).not.to.equal('undone');
    expect(place.changes()).to.deep.equal([]);
    expect(place.remoteBranches()).to.deep.equal(['refs/heads/main']);
    place.checkout.git('checkout', '-q', 'main');
    const whole = await place.undo(half);
    expect(whole.status).to.equal('undone');
    expect(place.checkout.git('branch', '--list', branch)).to.equal('');
  });

  describe('hostile', () => {
    /** Whatever git could be made to start leaves its name here. */
    function trap(folder: string): { readonly log: string; readonly line: (name: string) => string } {
      const log = join(folder, 'executed.log');
      writeFileSync(log, '');
      return { log, line: (name) => `sh -c 'echo ${name} >> ${log}; cat'` };
    }

    it('runs nothing that the configuration, hooks and attributes of the checkout name', async () => {
      const place = await placeOf(
        makeRepository({ ...files, '.gitattributes': '* filter=evil diff=evil\n' }),
      );
      const { checkout } = place;
      const folder = temporaryFolder();
      const { log, line } = trap(folder);
      const included = join(folder, 'included.gitconfig');
      writeFileSync(included, `[core]\n\tfsmonitor = "${line('included-fsmonitor')}"\n`);
      const settings: [string, string][] = [
        ['include.path', included],
        ['core.fsmonitor', line('fsmonitor')],
        ['core.hooksPath', join(folder, 'hooks')],
        ['core.sshCommand', line('ssh')],
        ['core.gitProxy', line('proxy')],
        ['core.askPass', line('askpass')],
        ['core.editor', line('editor')],
        ['core.pager', line('pager')],
        ['core.alternateRefsCommand', line('alternates')],
        ['core.attributesFile', join(folder, 'attributes')],
        ['credential.helper', `!${line('credential')}`],
        ['filter.evil.clean', line('clean')],
        ['filter.evil.smudge', line('smudge')],
        ['filter.evil.process', line('process')],
        ['filter.evil.required', 'true'],
        ['diff.external', line('diff')],
        ['diff.evil.textconv', line('textconv')],
        ['diff.evil.command', line('diff-command')],
        ['gpg.program', line('gpg')],
        ['commit.gpgSign', 'true'],
        ['uploadpack.packObjectsHook', line('pack-objects')],
        ['remote.origin.uploadpack', line('upload-pack')],
        ['remote.origin.receivepack', line('receive-pack')],
        ['remote.origin.proxy', 'http://127.0.0.1:1'],
        ['remote.origin.vcs', 'evil'],
        ['alias.fetch-pack', `!${line('alias')}`],
        ['trace2.normalTarget', join(folder, 'trace2')],
        ['gc.auto', '1'],
        ['maintenance.auto', 'true'],
        ['transfer.fsckObjects', 'true'],
        ['fetch.fsck.skipList', '/dev/null'],
        ['submodule.recurse', 'true'],
        ['core.logAllRefUpdates', 'always'],
        ['extensions.worktreeConfig', 'true'],
      ];
      for (const [key, value] of settings) checkout.git('config', '--add', key, value);
      checkout.git('config', '--worktree', 'core.fsmonitor', line('worktree-fsmonitor'));
      appendFileSync(join(checkout.gitDir, 'info/attributes'), '* filter=evil\n');
      const hooks = [
        'reference-transaction',
        'post-index-change',
        'pre-push',
        'post-checkout',
        'post-merge',
        'pre-commit',
        'post-commit',
        'update',
        'pre-receive',
        'post-receive',
        'fsmonitor-watchman',
        'pre-auto-gc',
        'proc-receive',
      ];
      for (const at of [join(checkout.gitDir, 'hooks'), join(folder, 'hooks')]) {
        mkdirSync(at, { recursive: true });
        for (const name of hooks)
          writeFileSync(join(at, name), `#!/bin/sh\n${line(`hook-${name}`)}\n`, { mode: 0o755 });
      }
      mkdirSync(join(folder, 'alternate.git/objects'), { recursive: true });
      place.accept();
      const run = await place.execute(await planned(place));
      expect(run.status, JSON.stringify(run.actions.map(({ outcome }) => outcome))).to.equal('completed');
      expect((await place.undo(run)).status).to.equal('undone');
      expect(place.changes().filter((change) => change !== '+ .git/refs/heads/core')).to.deep.equal([]);
      expect(readFileSync(log, 'utf8')).to.equal('');
      expect(existsSync(join(folder, 'trace2'))).to.equal(false);
      // The trap is real: the person's own git falls into it.
      expect(() => checkout.git('status')).to.throw(/filter 'evil'/);
      expect(readFileSync(log, 'utf8')).to.contain('fsmonitor');
    });

    it('runs nothing that a tree names: hooks, git settings, submodules, attributes, jj settings', async () => {
      const folder = temporaryFolder();
      const { log, line } = trap(folder);
      const settings = `[core]\n\tfsmonitor = "${line('tree-fsmonitor')}"\n\thooksPath = hooks\n[filter "evil"]\n\tsmudge = "${line('tree-smudge')}"\n\tclean = "${line('tree-clean')}"\n`;
      const hook = { content: `#!/bin/sh\n${line('tree-hook')}\n`, mode: 0o755 };
      const source = makeRepository({
        ...files,
        '.gitconfig': settings,
        '.gitmodules': `[submodule "x"]\n\tpath = x\n\turl = ext::${line('submodule')}\n\tupdate = !${line('update')}\n`,
        '.gitattributes': '* filter=evil\n',
        '.lfsconfig': '[lfs]\n\turl = http://127.0.0.1:1\n',
        '.jjconfig.toml': `[ui]\neditor = "${folder}/x"\n`,
        'hooks/post-checkout': hook,
        'hooks/reference-transaction': hook,
        config: settings,
        HEAD: 'ref: refs/heads/main\n',
        'objects/x': 'x\n',
        'refs/x': 'x\n',
        'nested/HEAD': 'ref: refs/heads/main\n',
        'nested/config': settings,
        'nested/objects/x': 'x\n',
        'nested/refs/x': 'x\n',
      });
      await expectRoundTrip(await placeOf(source));
      expect(readFileSync(log, 'utf8')).to.equal('');
    });
  });
});

async function refusalOf(promise: Promise<unknown>): Promise<CoreError> {
  return promise.then(
    () => expect.fail('it went through'),
    (error) => error,
  );
}
