import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { failure } from '../../../../test/contract/forge.contract.ts';
import { addBranch, gitIn, makeBareRepository } from '../../../../test/fixtures/forges/bare-repository.ts';
import { ForgeFolder } from './forge-folder.ts';
import { LocalForge } from './local-forge.ts';
import { LocalForgeAdmin } from './local-forge-admin.ts';

describe('the administration of the local forge', () => {
  const ref = { owner: 'demo', repo: 'hello' };
  let folder: string;
  let admin: LocalForgeAdmin;
  let forge: LocalForge;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-admin-'));
    const files = new ForgeFolder('local', join(folder, 'forge'));
    admin = new LocalForgeAdmin(files, 'core');
    forge = new LocalForge(files, 'core');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const issueBy = (author: string, association = 'owner') =>
    admin.newIssue({ ...ref, title: 'Greeting', body: 'wrong', author, association });

  it('makes an empty repository that can be pushed to', async () => {
    const made = await admin.init({ ...ref, from: null });
    expect(made.default_branch).to.equal('main');
    expect(made.folder).to.equal(join(folder, 'forge/demo/hello'));
    const source = makeBareRepository(folder, 'work.git');
    gitIn(source, ['push', '--quiet', made.clone_url, 'main']);
    expect(gitIn(made.clone_url, ['rev-parse', 'HEAD'])).to.equal(gitIn(source, ['rev-parse', 'main']));
    expect(readdirSync(join(folder, 'forge/demo'))).to.deep.equal(['hello']);
  });

  it('takes over branches and tags of a repository, but no hooks and no configuration', async () => {
    const source = makeBareRepository(folder, 'source.git');
    addBranch(source, 'topic/a', { 'a.txt': 'a\n' });
    gitIn(source, ['tag', 'v1', 'main']);
    gitIn(source, ['symbolic-ref', 'HEAD', 'refs/heads/topic/a']);
    gitIn(source, ['config', 'core.fsmonitor', `touch ${join(folder, 'pwned')}`]);
    gitIn(source, ['config', 'core.sshCommand', `touch ${join(folder, 'pwned')}`]);
    gitIn(source, ['config', 'uploadpack.packObjectsHook', `touch ${join(folder, 'pwned')}`]);
    mkdirSync(join(source, 'hooks'), { recursive: true });
    writeFileSync(join(source, 'hooks/post-checkout'), `#!/bin/sh\ntouch ${join(folder, 'pwned')}\n`, {
      mode: 0o755,
    });
    const made = await admin.init({ ...ref, from: source });
    expect(made.default_branch).to.equal('topic/a');
    const refs = gitIn(made.clone_url, ['for-each-ref', '--format=%(refname)']).split('\n');
    expect(refs).to.deep.equal(['refs/heads/main', 'refs/heads/topic/a', 'refs/tags/v1']);
    expect(gitIn(made.clone_url, ['config', '--list', '--local'])).to.not.contain('pwned');
    expect(existsSync(join(made.clone_url, 'hooks'))).to.equal(false);
    expect(existsSync(join(folder, 'pwned'))).to.equal(false);
  });

  it('refuses sources that it cannot take over, and leaves nothing behind', async () => {
    const source = makeBareRepository(folder, 'source.git');
    addBranch(source, 'main', { 'b.txt': 'b\n' });
    gitIn(folder, ['clone', '--quiet', '--depth=1', `file://${source}`, 'shallow']);
    mkdirSync(join(folder, 'plain'));
    gitIn(folder, ['init', '--quiet', '--initial-branch=trunk', 'unborn']);
    for (const [from, code] of [
      ['shallow', 'source_is_shallow'],
      ['plain', 'source_not_a_repository'],
      ['absent', 'source_not_a_repository'],
      ['unborn', 'source_is_empty'],
      ['shallow/.git/objects', 'source_not_a_repository'],
    ] as const) {
      expect(await failure(admin.init({ ...ref, from: join(folder, from) })), from).to.include({
        code,
        exitCode: 2,
      });
    }
    expect(await failure(forge.repository(ref))).to.include({ code: 'repository_not_found' });
    expect(existsSync(join(folder, 'forge/demo/hello'))).to.equal(false);
  });

  it('takes over a repository with a detached HEAD', async () => {
    const source = makeBareRepository(folder, 'source.git');
    gitIn(folder, ['clone', '--quiet', source, 'detached']);
    gitIn(join(folder, 'detached'), ['checkout', '--quiet', '--detach']);
    const detached = await admin.init({ owner: 'demo', repo: 'detached', from: join(folder, 'detached') });
    expect(detached.default_branch).to.equal('main');
  });

  it('does not replace a repository', async () => {
    await admin.init({ ...ref, from: null });
    await issueBy('mira');
    expect(await failure(admin.init({ ...ref, from: null }))).to.include({
      name: 'Conflict',
      code: 'repository_exists',
    });
    expect(await admin.listIssues(ref, 'all')).to.have.length(1);
    expect(readdirSync(join(folder, 'forge/demo'))).to.deep.equal(['hello']);
  });

  it('gives every issue its own number, also when several processes write at once', async () => {
    await admin.init({ ...ref, from: null });
    const script = `
      const { ForgeFolder } = await import(${JSON.stringify(new URL('./forge-folder.ts', import.meta.url).href)});
      const { LocalForgeAdmin } = await import(${JSON.stringify(new URL('./local-forge-admin.ts', import.meta.url).href)});
      const admin = new LocalForgeAdmin(new ForgeFolder('local', ${JSON.stringify(join(folder, 'forge'))}), 'core');
      for (let i = 0; i < 20; i++) {
        const issue = await admin.newIssue({ owner: 'demo', repo: 'hello', title: 'x', body: '', author: 'mira', association: 'owner' });
        await admin.comment({ owner: 'demo', repo: 'hello', number: 1, body: String(process.pid), author: 'mira', association: 'owner' });
      }`;
    await issueBy('mira');
    const children = [1, 2, 3].map(() =>
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' }),
    );
    for (const [code] of await Promise.all(children.map((child) => once(child, 'exit'))))
      expect(code).to.equal(0);
    const numbers = (await admin.listIssues(ref, 'all')).map(({ number }) => number);
    expect(numbers).to.deep.equal(Array.from({ length: 61 }, (_, index) => 61 - index));
    expect(await forge.comments(ref, 1)).to.have.length(60);
  });

  it('lets nobody write under the name of Core, or under none', async () => {
    await admin.init({ ...ref, from: null });
    const { number } = await issueBy('mira');
    for (const author of ['core', 'CORE', '', ' ', 'a\nb', '\u001b[31m']) {
      expect(await failure(issueBy(author)), author).to.include({ code: 'invalid_author' });
      const comment = { ...ref, number, body: 'fake', author, association: 'owner' };
      expect(await failure(admin.comment(comment)), author).to.include({ code: 'invalid_author' });
    }
    expect(await failure(issueBy('mira', 'boss'))).to.include({ code: 'invalid_input' });
    expect(
      await failure(admin.newIssue({ ...ref, title: ' ', body: '', author: 'mira', association: 'owner' })),
    ).to.include({
      code: 'invalid_title',
    });
  });

  async function openedPull(branch: string, files: Record<string, string>): Promise<number> {
    const { clone_url } = await forge.repository(ref);
    addBranch(clone_url, branch, files);
    return (await forge.openPullRequest(ref, { title: `Do ${branch}`, body: '', head: branch, base: 'main' }))
      .number;
  }

  it('opens one pull request where several open it at the same time, or where one stood still while it did', async () => {
    await admin.init({ ...ref, from: makeBareRepository(folder, 'source.git') });
    const { clone_url } = await forge.repository(ref);
    addBranch(clone_url, 'core/1-a', { 'a.txt': 'one\n' });
    const request = { title: 'x', body: '', head: 'core/1-a', base: 'main' };
    const opened = await Promise.allSettled([1, 2, 3, 4, 5].map(() => forge.openPullRequest(ref, request)));
    const refused = opened.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused.map(({ reason }) => reason.code)).to.deep.equal(Array(4).fill('forge_refused'));
    const [first, ...others] = await forge.findPullRequests(ref, 'core/1-a');
    expect(others).to.deep.equal([]);

    await forge.closePullRequest(ref, first!.number);
    // As if a process had ended between its claim of the branch and its record.
    const second = await forge.openPullRequest(ref, request);
    rmSync(join(folder, `forge/demo/hello/pulls/${second.number}.json`));
    const third = await forge.openPullRequest(ref, { ...request, title: 'y' });
    expect(third).to.include({ number: second.number, title: 'y' });
    expect(await forge.findPullRequests(ref, 'core/1-a')).to.deep.equal([
      third,
      { ...first!, state: 'closed' },
    ]);
  });

  it('shows a pull request with its patch and merges it into the base branch', async () => {
    await admin.init({ ...ref, from: makeBareRepository(folder, 'source.git') });
    const { clone_url } = await forge.repository(ref);
    const number = await openedPull('core/1-a', { 'a.txt': 'one\n' });
    addBranch(clone_url, 'main', { 'other.txt': 'moved on\n' });
    const { pull, patch } = await admin.pullRequest(ref, number);
    expect(pull).to.include({ state: 'open', head: 'core/1-a', base: 'main' });
    expect(Buffer.from(patch).toString()).to.contain('+one').and.not.contain('moved on');

    const merged = await admin.mergePullRequest(ref, number, 'mira');
    expect(merged.into).to.equal('main');
    expect(gitIn(clone_url, ['rev-parse', 'main'])).to.equal(merged.commit);
    expect(gitIn(clone_url, ['show', 'main:a.txt'])).to.equal('one');
    expect(gitIn(clone_url, ['show', 'main:other.txt'])).to.equal('moved on');
    expect(gitIn(clone_url, ['log', '-1', '--format=%an %s', 'main'])).to.equal(
      `mira Merge pull request #${number} from core/1-a`,
    );
    const after = await admin.pullRequest(ref, number);
    expect(after.pull.state).to.equal('merged');
    expect(Buffer.from(after.patch).toString()).to.contain('+one');
    expect(await failure(admin.mergePullRequest(ref, number))).to.include({ code: 'pull_request_not_open' });
    expect(await admin.listPullRequests(ref, 'open')).to.deep.equal([]);
    expect(await admin.listPullRequests(ref, 'closed')).to.have.length(1);
  });

  it('merges past a lock that a killed git left', async () => {
    await admin.init({ ...ref, from: makeBareRepository(folder, 'source.git') });
    const { clone_url } = await forge.repository(ref);
    const number = await openedPull('core/1-a', { 'a.txt': 'one\n' });
    const lock = join(clone_url, 'refs/heads/main.lock');
    const minuteAgo = new Date(Date.now() - 60_000);
    writeFileSync(lock, '');
    utimesSync(lock, minuteAgo, minuteAgo);
    const merged = await admin.mergePullRequest(ref, number, 'mira');
    expect(gitIn(clone_url, ['rev-parse', 'main'])).to.equal(merged.commit);
    expect(existsSync(lock)).to.equal(false);
  });

  it('closes the issues that a merged pull request says it closes, and no other', async () => {
    await admin.init({ ...ref, from: makeBareRepository(folder, 'source.git') });
    const { clone_url } = await forge.repository(ref);
    const closed = (await issueBy('mira')).number;
    const mentioned = (await issueBy('mira')).number;
    addBranch(clone_url, 'core/1-a', { 'a.txt': 'one\n' });
    const body = `It does not say Closes #${mentioned}.\n\nCloses #${closed}\nCloses #4711\n`;
    const { number } = await forge.openPullRequest(ref, { title: 'x', body, head: 'core/1-a', base: 'main' });
    await admin.mergePullRequest(ref, number, 'mira');
    expect((await forge.issue(ref, closed)).state).to.equal('closed');
    expect((await forge.issue(ref, mentioned)).state).to.equal('open');
  });

  it('refuses to merge what conflicts, and names the files', async () => {
    await admin.init({ ...ref, from: makeBareRepository(folder, 'source.git') });
    const { clone_url } = await forge.repository(ref);
    const number = await openedPull('core/1-a', { 'README.md': 'theirs\n' });
    const base = addBranch(clone_url, 'main', { 'README.md': 'ours\n' });
    const error = await failure(admin.mergePullRequest(ref, number));
    expect(error).to.include({ name: 'Conflict', code: 'merge_conflict', exitCode: 3 });
    expect(error.message).to.contain('README.md');
    expect(gitIn(clone_url, ['rev-parse', 'main'])).to.equal(base);
    expect((await admin.pullRequest(ref, number)).pull.state).to.equal('open');
    gitIn(clone_url, ['update-ref', '-d', 'refs/heads/core/1-a']);
    expect(await failure(admin.mergePullRequest(ref, number))).to.include({ code: 'branch_not_found' });
  });

  it('records a merge that happened before a crash, without merging twice', async () => {
    await admin.init({ ...ref, from: makeBareRepository(folder, 'source.git') });
    const { clone_url, default_branch } = await forge.repository(ref);
    const number = await openedPull('core/1-a', { 'a.txt': 'one\n' });
    const { commit } = await admin.mergePullRequest(ref, number, 'mira');
    // As if the process had ended between git and the record.
    rmSync(join(folder, `forge/demo/hello/pulls/${number}.closed.json`));
    expect((await forge.findPullRequests(ref, 'core/1-a'))[0]!.state).to.equal('open');
    expect((await admin.mergePullRequest(ref, number, 'mira')).commit).to.equal(commit);
    expect(gitIn(clone_url, ['rev-parse', default_branch])).to.equal(commit);
    expect((await admin.pullRequest(ref, number)).pull.state).to.equal('merged');
  });

  it('says which file is broken, and where', async () => {
    await admin.init({ ...ref, from: null });
    const { number } = await issueBy('mira');
    const path = join(folder, `forge/demo/hello/issues/${number}.json`);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"Greeting"', '7'));
    const error = await failure(forge.issue(ref, number));
    expect(error).to.include({ name: 'InvalidInput', code: 'forge_reply_invalid' });
    expect(error.message).to.contain(path).and.contain('/title');
    writeFileSync(join(folder, 'forge/demo/hello/issues/notes.txt'), 'mine');
    writeFileSync(path, '{"torn":');
    expect(await failure(forge.listIssues(ref, { state: 'all', limit: 10 }))).to.include({
      name: 'InvalidInput',
    });
  });

  it('says that it cannot write where it may not', async () => {
    if (process.getuid?.() === 0) {
      // Nothing is read-only for root but a folder whose place a file has.
      await admin.init({ ...ref, from: null });
      rmSync(join(folder, 'forge/demo/hello/numbers'), { recursive: true });
      writeFileSync(join(folder, 'forge/demo/hello/numbers'), '');
    } else {
      await admin.init({ ...ref, from: null });
      chmodSync(join(folder, 'forge/demo/hello/numbers'), 0o500);
    }
    const error = await failure(issueBy('mira'));
    expect(error).to.include({ name: 'Failed' });
    expect(error.message).to.contain('forge/demo/hello/numbers');
  });

  it('refuses writes to an archived repository', async () => {
    await admin.init({ ...ref, from: makeBareRepository(folder, 'source.git') });
    const { number } = await issueBy('mira');
    const { clone_url } = await forge.repository(ref);
    addBranch(clone_url, 'core/1-a', { 'a.txt': 'a\n' });
    const path = join(folder, 'forge/demo/hello/repository.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"archived": false', '"archived": true'));
    expect((await forge.repository(ref)).archived).to.equal(true);
    expect(await failure(forge.comment(ref, number, 'x'))).to.include({ code: 'forge_refused' });
    const request = { title: 'x', body: '', head: 'core/1-a', base: 'main' };
    expect(await failure(forge.openPullRequest(ref, request))).to.include({ code: 'forge_refused' });
  });
});
