import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  makeBareRepository,
  makeRepository,
  repositoryAt,
} from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { openMirror } from './mirror.ts';

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'nothing',
    (error) => error.code,
  );
}

const name = { forge: 'local', owner: 'demo', repo: 'hello' };

describe('the mirror of a forge repository', () => {
  it('follows the branches of the remote, and no tags', async () => {
    const work = makeRepository({ a: '1\n' });
    work.git('branch', 'old');
    work.git('tag', 'v1');
    const remote = makeBareRepository(work);
    remote.git('fetch', '-q', work.dir, '--tags');
    const mirror = await openMirror({ stateDir: temporaryFolder(), ...name });
    await mirror.update(remote.dir, null);
    expect(await mirror.branchCommit('old')).to.equal(work.git('rev-parse', 'HEAD'));
    remote.git('branch', '-D', 'old');
    remote.git('branch', 'old/deeper', 'main');
    const next = work.commit({ a: '2\n', b: '1\n' });
    work.git('push', '-qf', remote.dir, 'main');
    await mirror.update(remote.dir, null);
    expect(await mirror.branchCommit('old')).to.equal(null);
    expect(await mirror.branchCommit('old/deeper')).to.be.a('string');
    expect(await mirror.branchCommit('main')).to.equal(next);
    expect(await mirror.changedPaths(`${next}~`, next)).to.deep.equal(['a', 'b']);
    expect(repositoryAt(mirror.dir, mirror.dir).git('tag')).to.equal('');
  });

  it('keeps a pinned commit that the remote forgot', async () => {
    const work = makeRepository({ a: '1\n' });
    const mirror = await openMirror({ stateDir: temporaryFolder(), ...name });
    await mirror.update(work.dir, null);
    const base = work.git('rev-parse', 'HEAD');
    await mirror.pin('run_1', base);
    work.git('commit', '-q', '--amend', '-m', 'Another');
    await mirror.update(work.dir, null);
    expect(await mirror.has(base)).to.equal(true);
    expect(repositoryAt(mirror.dir, mirror.dir).git('rev-parse', 'refs/core/runs/run_1/base')).to.equal(base);
    expect(await codeOf(mirror.pin('run_1', '1'.repeat(40)))).to.equal('commit_not_found');
    expect(await mirror.has('main; rm -rf /')).to.equal(false);
  });

  it('names a lock file that keeps it from pinning a commit', async () => {
    const work = makeRepository({ a: '1\n' });
    const mirror = await openMirror({ stateDir: temporaryFolder(), ...name });
    await mirror.update(work.dir, null);
    const lock = join(mirror.dir, 'refs/core/runs/run_1/base.lock');
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    expect(await codeOf(mirror.pin('run_1', work.git('rev-parse', 'HEAD')))).to.equal('repository_locked');
  });

  it('is made again after it was deleted or damaged', async () => {
    const work = makeRepository({ a: '1\n' });
    const mirror = await openMirror({ stateDir: temporaryFolder(), ...name });
    await mirror.update(work.dir, null);
    rmSync(mirror.dir, { recursive: true });
    await mirror.update(work.dir, null);
    expect(await mirror.branchCommit('main')).to.equal(work.git('rev-parse', 'HEAD'));
    rmSync(join(mirror.dir, 'objects'), { recursive: true });
    await mirror.update(work.dir, null);
    expect(await mirror.branchCommit('main')).to.equal(work.git('rev-parse', 'HEAD'));
  });

  it('says that a repository is empty, gone, or not to be had this way', async () => {
    const mirror = await openMirror({ stateDir: temporaryFolder(), ...name });
    await mirror.update(makeBareRepository().dir, null);
    expect(await mirror.branchCommit('main')).to.equal(null);
    expect(await codeOf(mirror.update('/nonexistent/repository', null))).to.equal('remote_unavailable');
    for (const url of ['ext::sh -c "touch /tmp/x"', '--upload-pack=touch', 'relative/path', 'foo::bar']) {
      expect(await codeOf(mirror.update(url, null))).to.equal('remote_url_not_allowed');
    }
  });

  it('works from a shallow source and with SHA-256 objects', async () => {
    const work = makeRepository({ a: '1\n' });
    work.commit({ a: '2\n' });
    const shallow = join(temporaryFolder(), 'shallow');
    work.git('clone', '-q', '--depth=1', `file://${work.dir}`, shallow);
    const mirror = await openMirror({ stateDir: temporaryFolder(), ...name });
    await mirror.update(shallow, null);
    expect(await mirror.branchCommit('main')).to.equal(work.git('rev-parse', 'HEAD'));
    const dir = temporaryFolder();
    work.git('init', '-q', '-b', 'main', '--object-format=sha256', dir);
    const commit = repositoryAt(dir, join(dir, '.git')).commit({ b: '1\n' });
    await mirror.update(dir, null);
    expect(await mirror.branchCommit('main')).to.equal(commit);
  });

  it('is updated by several processes at once, past a lock that a crash left', async () => {
    const work = makeRepository({ a: '1\n' });
    for (let index = 0; index < 20; index++) work.git('branch', `b${index}`);
    const stateDir = temporaryFolder();
    const mirror = await openMirror({ stateDir, ...name });
    await mirror.update(work.dir, null);
    for (let index = 0; index < 20; index++) work.git('branch', '-D', `b${index}`);
    const next = work.commit({ a: '2\n' });
    const lock = join(mirror.dir, 'packed-refs.lock');
    writeFileSync(lock, '');
    const hourAgo = Date.now() / 1000 - 3600;
    utimesSync(lock, hourAgo, hourAgo);
    const module = fileURLToPath(new URL('./mirror.ts', import.meta.url));
    const script = `const { openMirror } = await import(${JSON.stringify(module)});
      const mirror = await openMirror(${JSON.stringify({ stateDir, ...name })});
      await mirror.update(${JSON.stringify(work.dir)}, null);`;
    const runs = [1, 2, 3].map(() =>
      promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]),
    );
    await Promise.all(runs);
    expect(await mirror.branchCommit('main')).to.equal(next);
    expect(await mirror.branchCommit('b3')).to.equal(null);
    expect(existsSync(lock)).to.equal(false);
  });

  it('guards the names that become folders', async () => {
    for (const repo of ['..', 'a/b', '', 'a b', '.hidden', 'x.lock', 'x.git', 'a..b', 'ü']) {
      expect(await codeOf(openMirror({ stateDir: temporaryFolder(), ...name, repo }))).to.equal(
        'name_not_allowed',
      );
    }
  });
});
