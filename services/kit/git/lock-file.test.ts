import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { until } from '../../../test/fixtures/until.ts';
import { describeWith } from '../../../test/needs.ts';
import { CoreError } from '../errors.ts';
import { git } from './git.ts';
import { lockHolder, takenLock } from './lock-file.ts';

async function failureOf(work: Promise<unknown>): Promise<CoreError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(CoreError);
  return error as CoreError;
}

describe('A git that finds a lock file', () => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    'index.lock': ['read-tree', 'HEAD'],
    'HEAD.lock': ['symbolic-ref', 'HEAD', 'refs/heads/other'],
    'config.lock': ['config', 'a.b', 'c'],
    'refs/heads/new.lock': ['update-ref', 'refs/heads/new', 'HEAD'],
    'packed-refs.lock': ['pack-refs', '--all'],
  };
  for (const [name, args] of Object.entries(cases)) {
    it(`names ${name}, its age and what to do`, async () => {
      const { dir, gitDir } = makeRepository({ 'a.txt': 'a\n' });
      const lock = join(gitDir, name);
      mkdirSync(dirname(lock), { recursive: true });
      writeFileSync(lock, '');
      const before = new Date(Date.now() - 3 * 3_600_000);
      utimesSync(lock, before, before);
      for (const place of [{ gitDir }, { cwd: dir }]) {
        const error = await failureOf(git(args, place));
        expect(error.code).to.equal('repository_locked');
        expect(error.message).to.match(/^the lock \/.*\.lock is in the way: made 3 h ago by user \d+/);
        expect(error.message).to.contain(lock);
        expect(error.hint).to.contain(`rm ${lock}`);
      }
    });
  }

  it('does not wait as long as the configuration of the repository says', async () => {
    const { gitDir } = makeRepository({ 'a.txt': 'a\n' });
    for (const key of ['core.packedRefsTimeout', 'core.filesRefLockTimeout'])
      await git(['config', key, '-1'], { gitDir });
    for (const [name, args] of [
      ['packed-refs.lock', cases['packed-refs.lock']!],
      ['refs/heads/new.lock', cases['refs/heads/new.lock']!],
    ] as const) {
      writeFileSync(join(gitDir, name), '');
      const signal = AbortSignal.timeout(20_000);
      expect((await failureOf(git(args, { gitDir, signal }))).code).to.equal('repository_locked');
    }
  });

  it('says nothing of a lock that is gone, or on another machine', async () => {
    expect(takenLock('fatal: something else')).to.equal(null);
    expect(takenLock("The lockfile at '/a/.git/index.lock' might need manual deletion.")).to.equal(
      '/a/.git/index.lock',
    );
    expect(takenLock('error: could not lock config file .git/config: File exists', '/a')).to.equal(
      '/a/.git/config.lock',
    );
  });
});

describeWith(['linux'], 'The process that holds a lock file', () => {
  let child: ChildProcess | null = null;
  afterEach(() => {
    child?.kill('SIGKILL');
  });

  it('is the one that has it open', async () => {
    const { gitDir } = makeRepository({ 'a.txt': 'a\n' });
    const lock = join(gitDir, 'index.lock');
    child = spawn('sh', ['-c', 'exec 9>"$0"; while :; do sleep 0.1; done', lock]);
    await until('the process is seen', () => lockHolder(lock));
    expect(lockHolder(lock)).to.equal(`sh (pid ${child.pid})`);
    const error = await failureOf(git(['read-tree', 'HEAD'], { gitDir }));
    expect(error.message).to.equal(`sh (pid ${child.pid}) holds the lock ${lock}`);
    expect(error.hint).to.match(/^Wait until that process ends/);
  });

  it('is a git that works in that repository, shown without its arguments', async () => {
    const { dir, gitDir } = makeRepository({ 'a.txt': 'a\n' });
    child = spawn('git', ['-c', 'user.name=secret', 'cat-file', '--batch'], { cwd: dir });
    for (const name of ['index.lock', 'refs/heads/deep/new.lock']) {
      const lock = join(gitDir, name);
      await until('the process is seen', () => lockHolder(lock));
      expect(lockHolder(lock)).to.equal(`git cat-file (pid ${child.pid})`);
    }
    expect(lockHolder(join(makeRepository({}).gitDir, 'index.lock'))).to.equal(null);
  });
});
