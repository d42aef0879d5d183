import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { lockHolder } from '#kit/git/lock-file.ts';
import { makeBareRepository, makeRepository } from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { until } from '../../../test/fixtures/until.ts';
import { clearStaleLock, pushBranch } from './remote.ts';

const words = (lock: string) => `remote: error: Unable to create '${lock}': File exists.\n`;

function lockIn(folder: string, age: number): string {
  const lock = join(folder, 'refs', 'heads', 'main.lock');
  mkdirSync(join(folder, 'refs', 'heads'), { recursive: true });
  writeFileSync(lock, '');
  const at = new Date(Date.now() - age);
  utimesSync(lock, at, at);
  return lock;
}

describe('a lock in a repository on this machine', () => {
  it('is removed when it is old, by path and by URL', async () => {
    const folder = temporaryFolder();
    for (const url of [folder, `file://${folder}`]) {
      const lock = lockIn(folder, 60_000);
      expect(await clearStaleLock(url, words(lock))).to.equal(true);
      expect(existsSync(lock)).to.equal(false);
    }
  });

  it('is waited for when it is young, and may be given back meanwhile', async () => {
    const folder = temporaryFolder();
    const lock = lockIn(folder, 9_900);
    setTimeout(() => rmSync(lock, { force: true }), 20);
    expect(await clearStaleLock(folder, words(lock))).to.equal(true);
  });

  it('stays if another process took it again during the wait', async () => {
    const folder = temporaryFolder();
    const lock = lockIn(folder, 1_000);
    const cleared = clearStaleLock(folder, words(lock));
    utimesSync(lock, new Date(), new Date());
    expect(await cleared).to.equal(false);
    expect(existsSync(lock)).to.equal(true);
  });

  it('stays while a process has it open, however old it is, and a push says so', async () => {
    const source = makeRepository({ 'a.txt': 'a\n' });
    const remote = makeBareRepository(source);
    source.commit({ 'a.txt': 'b\n' });
    const lock = lockIn(remote.dir, 60_000);
    const child = spawn('sh', ['-c', 'exec 9>>"$0"; while :; do sleep 0.1; done', lock]);
    try {
      await until('the process is seen', () => lockHolder(lock));
      const push = { url: remote.dir, branch: 'main', credential: null };
      const [expected, commit] = source.git('rev-parse', 'HEAD^', 'HEAD').split('\n') as [string, string];
      const outcome = await pushBranch(source.gitDir, { ...push, expected, commit });
      expect(outcome).to.deep.equal({
        result: 'rejected',
        message: `sh (pid ${child.pid}) holds the lock ${lock}. Wait until that process ends, or end it. Then try again.`,
      });
      expect(existsSync(lock)).to.equal(true);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('stays when it is outside the repository, or the repository elsewhere', async () => {
    const lock = lockIn(temporaryFolder(), 60_000);
    for (const url of [temporaryFolder(), 'https://example.org/demo/hello.git', 'host:demo/hello.git']) {
      expect(await clearStaleLock(url, words(lock))).to.equal(false);
    }
    expect(await clearStaleLock('/', 'fatal: something else')).to.equal(false);
    expect(existsSync(lock)).to.equal(true);
  });
});
