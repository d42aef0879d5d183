import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { setTraps } from '../../../test/fixtures/repositories/hostile.ts';
import {
  makeBareRepository,
  makeRepository,
  repositoryAt,
  type TestRepository,
} from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { checkCheckout, deliver, placeOf } from './delivery.ts';
import { withdraw, withdrawal } from './withdrawal.ts';

const ref = 'refs/heads/core/1-greeting';

/** Every file below a folder with mode and content, but not git's objects and not our ref. */
function fingerprint(folder: string, prefix = ''): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const relative = `${prefix}${name}`;
    if (/(^|\/)\.git\/(objects|refs\/heads\/core)$/.test(relative)) return [];
    const stat = lstatSync(path);
    if (stat.isDirectory()) return [relative, ...fingerprint(path, `${relative}/`)];
    const content = stat.isSymbolicLink() ? readlinkSync(path) : readFileSync(path);
    return [`${relative} ${stat.mode} ${stat.mtimeMs} ${createHash('sha256').update(content).digest('hex')}`];
  });
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'nothing',
    (error) => `${error.code}: ${error.message}`,
  );
}

function scene() {
  const source = makeRepository({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  const first = source.git('rev-parse', 'HEAD');
  source.commit({ 'a.txt': 'a2\n' });
  const remote = makeBareRepository(source);
  const clone = makeRepository();
  clone.git('fetch', '-q', remote.dir, 'main:refs/remotes/origin/main');
  clone.git('checkout', '-q', '-b', 'core/1-greeting', 'refs/remotes/origin/main');
  const commit = clone.commit({ 'c.txt': 'delivered\n' });
  return { remote, clone, commit, first };
}

function checkoutOf(remote: TestRepository, ...options: string[]): TestRepository {
  const dir = join(temporaryFolder(), 'checkout');
  remote.git('clone', '-q', ...options, `file://${remote.dir}`, dir);
  return repositoryAt(dir, join(dir, '.git'));
}

async function takenBack(dir: string, remote: TestRepository, commit: string) {
  const place = await placeOf(dir, remote.dir);
  return withdraw(place, remote.dir, ref, { commit, base: '', steps: [] });
}

describe('delivery into the checkout of a person', () => {
  it('adds one ref and takes it away again, and changes nothing else by a byte', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    writeFileSync(join(checkout.dir, 'a.txt'), 'work in progress\n');
    writeFileSync(join(checkout.dir, 'untracked'), 'mine\n');
    checkout.git('add', 'a.txt');
    const before = fingerprint(checkout.dir);
    await checkCheckout(checkout.dir, remote.dir);
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    expect(checkout.git('rev-parse', ref)).to.equal(commit);
    expect(fingerprint(checkout.dir)).to.deep.equal(before);
    expect(checkout.git('fsck', '--connectivity-only')).to.equal('');
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    expect((await takenBack(checkout.dir, remote, commit)).state).to.equal('undone');
    expect((await takenBack(checkout.dir, remote, commit)).state).to.equal('undone');
    expect(checkout.git('for-each-ref', 'refs/heads', '--format=%(refname)')).to.equal('refs/heads/main');
    expect(fingerprint(checkout.dir)).to.deep.equal(before);
  });

  it('leaves a ref of the same name that is not ours', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    checkout.git('branch', 'core/1-greeting');
    expect(await codeOf(deliver(checkout.dir, remote.dir, clone.dir, ref, commit))).to.match(
      /^ref_exists: .*not ours/,
    );
    expect((await takenBack(checkout.dir, remote, commit)).state).to.equal('kept');
    checkout.git('branch', '-D', 'core/1-greeting');
    checkout.git('branch', 'core');
    expect(await codeOf(deliver(checkout.dir, remote.dir, clone.dir, ref, commit))).to.match(/^ref_exists: /);
  });

  it('leaves a branch that the person has checked out, until they switch away', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    checkout.git('checkout', '-q', 'core/1-greeting');
    const inUse = await takenBack(checkout.dir, remote, commit);
    expect(inUse.state).to.equal('failed');
    expect(inUse.message).to.contain('is checked out in').and.to.contain('switch to another branch');
    const place = await placeOf(checkout.dir, remote.dir);
    const message = `delete ${ref} in ${place.dir}, if it is still ours`;
    expect(await withdrawal(place, remote.dir, ref)).to.deep.equal({
      effect: 'undo',
      message: `${message}; ${inUse.message}`,
    });
    checkout.git('checkout', '-q', 'main');
    expect(await withdrawal(place, remote.dir, ref)).to.deep.equal({ effect: 'undo', message });
    expect((await takenBack(checkout.dir, remote, commit)).state).to.equal('undone');
  });

  const shapes: [string, (remote: TestRepository) => TestRepository][] = [
    ['a shallow clone', (remote) => checkoutOf(remote, '--depth=1')],
    [
      'a bare clone',
      (remote) => {
        const bare = checkoutOf(remote, '--bare');
        return repositoryAt(bare.dir, bare.dir);
      },
    ],
    [
      'a detached HEAD',
      (remote) => {
        const checkout = checkoutOf(remote);
        checkout.git('checkout', '-q', '--detach');
        return checkout;
      },
    ],
    [
      'a linked work tree',
      (remote) => {
        const checkout = checkoutOf(remote);
        const dir = join(temporaryFolder(), 'linked');
        checkout.git('worktree', 'add', '-q', '-b', 'other', dir);
        return repositoryAt(dir, join(dir, '.git'));
      },
    ],
    [
      'a checkout that lacks the base',
      (remote) => {
        const checkout = makeRepository({ own: 'x\n' });
        checkout.git('remote', 'add', 'origin', remote.dir);
        return checkout;
      },
    ],
    [
      'a folder inside the checkout',
      (remote) => {
        const checkout = checkoutOf(remote);
        mkdirSync(join(checkout.dir, 'sub'));
        return repositoryAt(join(checkout.dir, 'sub'), checkout.gitDir);
      },
    ],
  ];
  for (const [name, make] of shapes) {
    it(`works with ${name}`, async () => {
      const { remote, clone, commit } = scene();
      const checkout = make(remote);
      await checkCheckout(checkout.dir, remote.dir);
      await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
      expect(checkout.git('show', `${ref}:c.txt`)).to.equal('delivered');
      expect((await takenBack(checkout.dir, remote, commit)).state).to.equal('undone');
    });
  }

  it('delivers nothing into another repository that took the place of the checked one', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    const other = makeRepository({ own: 'x\n' });
    const link = join(temporaryFolder(), 'link');
    symlinkSync(checkout.dir, link);
    await checkCheckout(link, remote.dir);
    const place = await placeOf(link, remote.dir);
    expect(place.dir).to.equal(checkout.dir);
    symlinkSync(other.dir, `${link}.new`);
    renameSync(`${link}.new`, link);
    const before = fingerprint(other.dir);
    expect(await codeOf(deliver(link, remote.dir, clone.dir, ref, commit))).to.match(/^remote_mismatch: /);
    expect(fingerprint(other.dir)).to.deep.equal(before);
    other.git('fetch', '-q', clone.dir, `${commit}:${ref}`);
    const ours = { commit, base: '', steps: [] };
    expect(await withdraw({ ...place, dir: link }, remote.dir, ref, ours)).to.deep.equal({
      state: 'kept',
      message: `${link} is another repository than the one that got ${ref}; where that one is, the branch stays`,
    });
    const asBefore = await withdraw({ host: null, dir: link, repository: null }, remote.dir, ref, ours);
    expect(asBefore.state).to.equal('failed');
    expect(asBefore.message).to.contain(`no remote of ${link} is`);
    expect(other.git('rev-parse', ref)).to.equal(commit);
  });

  it('takes nothing out of a checkout at the same path of another host, and says where the branch may be', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    const place = { ...(await placeOf(checkout.dir, remote.dir)), host: 'two.example' };
    const away = { ...place, repository: 'another' };
    const message = `${ref} may be in ${checkout.dir} on two.example: undo there, or delete it`;
    const ours = { commit, base: '', steps: [] };
    expect(await withdrawal(away, remote.dir, ref)).to.deep.equal({ effect: 'keep', message });
    expect(await withdraw(away, remote.dir, ref, ours)).to.deep.equal({ state: 'kept', message });
    const gone = { ...away, dir: `${away.dir}-of-two` };
    expect((await withdraw(gone, remote.dir, ref, ours)).message).to.contain('-of-two on two.example');
    expect(checkout.git('rev-parse', ref)).to.equal(commit);
    expect((await withdraw(place, remote.dir, ref, ours)).state).to.equal('undone');
  });

  it('names a lock file in its way, and what to do', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    const lock = join(checkout.gitDir, `${ref}.lock`);
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    expect(await codeOf(deliver(checkout.dir, remote.dir, clone.dir, ref, commit))).to.match(
      new RegExp(`^repository_locked: the lock ${lock} is in the way: made \\d+ s ago`),
    );
    rmSync(lock);
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    checkout.git('pack-refs', '--all');
    const packed = join(checkout.gitDir, 'packed-refs.lock');
    writeFileSync(packed, '');
    const kept = await takenBack(checkout.dir, remote, commit);
    expect(kept.state).to.equal('failed');
    expect(kept.message).to.contain(`the lock ${packed} is in the way`).and.contain(`rm ${packed}`);
    rmSync(packed);
    expect((await takenBack(checkout.dir, remote, commit)).state).to.equal('undone');
  });

  it('delivers where the configuration asks for checks with which some versions of git crash', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    for (const key of ['transfer.fsckObjects', 'fetch.fsckObjects']) checkout.git('config', key, 'true');
    for (const key of ['transfer.unpackLimit', 'fetch.unpackLimit']) checkout.git('config', key, '1');
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    expect(checkout.git('rev-parse', ref)).to.equal(commit);
  });

  it('runs nothing that a hostile configuration names', async () => {
    const { remote, clone, commit } = scene();
    const checkout = checkoutOf(remote);
    const traps = setTraps(checkout);
    await codeOf(checkCheckout(checkout.dir, remote.dir));
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    expect((await takenBack(checkout.dir, remote, commit)).state).to.equal('undone');
    expect(traps.sprung()).to.deep.equal([]);
    try {
      checkout.git('status');
    } catch {}
    expect(traps.sprung(), 'the traps are good').not.to.deep.equal([]);
  });
});

describe('the check of a checkout', () => {
  const url = 'https://github.com/demo/Hello';
  const same = [
    'https://github.com/demo/Hello.git',
    'https://GitHub.com:443/demo/Hello/',
    'https://token@github.com/demo/Hello',
    'git@github.com:demo/Hello.git',
    'ssh://git@github.com/demo/Hello.git',
    'ssh://git@github.com:22/demo/Hello',
    'github.com:/demo/Hello',
  ];
  for (const remote of same) {
    it(`takes ${remote} for ${url}`, async () => {
      const checkout = makeRepository({});
      checkout.git('remote', 'add', 'upstream', remote);
      await checkCheckout(checkout.dir, url);
    });
  }

  const other = [
    'https://github.com/demo/Hello2',
    'https://github.com.evil.example/demo/Hello',
    'https://github.com:8443/demo/Hello',
    'https://github.com/other/demo/Hello',
    'git@evil.example:github.com/demo/Hello',
    '/github.com/demo/Hello',
    'https://evil.example/?https://github.com/demo/Hello',
  ];
  for (const remote of other) {
    it(`does not take ${remote} for ${url}`, async () => {
      const checkout = makeRepository({});
      checkout.git('remote', 'add', 'origin', remote);
      expect(await codeOf(checkCheckout(checkout.dir, url))).to.match(/^remote_mismatch: .*origin is /);
    });
  }

  it('follows insteadOf, the longest one', async () => {
    const checkout = makeRepository({});
    checkout.git('config', 'url.https://github.com/.insteadOf', 'gh:');
    checkout.git('config', 'url.https://evil.example/.insteadOf', 'gh:other/');
    checkout.git('remote', 'add', 'origin', 'gh:demo/Hello');
    await checkCheckout(checkout.dir, url);
    expect(await codeOf(checkCheckout(checkout.dir, 'https://github.com/other/x'))).to.match(
      /^remote_mismatch/,
    );
  });

  it('never shows a password of a remote', async () => {
    const checkout = makeRepository({});
    checkout.git('remote', 'add', 'origin', 'https://me:s3cret@evil.example/x');
    expect(await codeOf(checkCheckout(checkout.dir, url)))
      .to.contain('evil.example')
      .and.not.contain('s3cret');
  });

  it('says when there is no folder, no repository or no remote', async () => {
    const folder = temporaryFolder();
    expect(await codeOf(checkCheckout(join(folder, 'none'), url))).to.match(/^checkout_not_found: /);
    expect(await codeOf(checkCheckout(folder, url))).to.match(/^not_a_repository: /);
    expect(await codeOf(checkCheckout(makeRepository().dir, url))).to.match(/it has no remote/);
  });

  it('finds the same local repository by another path', async () => {
    const remote = makeBareRepository();
    const checkout = makeRepository({});
    checkout.git(
      'remote',
      'add',
      'origin',
      `../${join('.', remote.dir.slice(checkout.dir.lastIndexOf('/') + 1))}`,
    );
    await checkCheckout(checkout.dir, `file://${remote.dir}`);
    await checkCheckout(checkout.dir, `${remote.dir}/`);
    await checkCheckout(checkout.dir, remote.dir.replace(/\.git$/, ''));
  });
});
