import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import {
  makeBareRepository,
  makeRepository,
  repositoryAt,
} from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { addRemote, findCheckout, requireOwnRepository } from '../git/checkout.ts';
import { checkCheckout, deliver, placeOf, writablePlace } from './delivery.ts';
import { withdraw } from './withdrawal.ts';

const ref = 'refs/heads/core/1-greeting';
const nobody = 65534;
const isRoot = process.getuid?.() === 0;

function scene() {
  const source = makeRepository({ 'a.txt': 'a\n' });
  const remote = makeBareRepository(source);
  const clone = makeRepository();
  clone.git('fetch', '-q', remote.dir, 'main:refs/remotes/origin/main');
  clone.git('checkout', '-q', '-b', 'core/1-greeting', 'refs/remotes/origin/main');
  const commit = clone.commit({ 'c.txt': 'delivered\n' });
  const dir = join(temporaryFolder(), 'checkout');
  remote.git('clone', '-q', `file://${remote.dir}`, dir);
  return { remote, clone, commit, checkout: repositoryAt(dir, join(dir, '.git')) };
}

/** Owners of everything below a folder. */
function ownersIn(folder: string): number[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return [
    ...new Set([folder, ...names.map((name) => join(folder, name))].map((path) => lstatSync(path).uid)),
  ];
}

function give(...folders: string[]): void {
  for (const folder of folders) {
    chmodSync(dirname(folder), 0o755);
    execFileSync('chown', ['-R', `${nobody}:${nobody}`, folder]);
    execFileSync('chmod', ['-R', 'a+rwX', folder]);
  }
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'nothing',
    (error) => `${error.code}: ${error.message}; ${error.hint}`,
  );
}

/** Delivers as another user. Modules are loaded before the rights are given up: the sources may be out of that user's reach. */
function deliverAsNobody(...args: readonly string[]): string {
  const program = `
    const { deliver } = await import(${JSON.stringify(new URL('delivery.ts', import.meta.url).href)});
    process.setgroups([]);
    process.setgid(${nobody});
    process.setuid(${nobody});
    await deliver(...${JSON.stringify(args)}).then(
      () => console.log('delivered'),
      (error) => console.log(\`\${error.code}: \${error.message}; \${error.hint}\`),
    );`;
  const node = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  return execFileSync(process.execPath, node, { cwd: '/', encoding: 'utf8' }).trim();
}

describe('A checkout of another user', () => {
  it('is not written to, unless several users share it', async () => {
    const { checkout } = scene();
    const own = process.geteuid!();
    await requireOwnRepository(checkout.gitDir, checkout.dir);
    expect(await refusalOf(requireOwnRepository(checkout.gitDir, checkout.dir, own + 1))).to.match(
      new RegExp(
        `^checkout_not_writable: nothing is written to .* belongs to user ${own}: .* user ${own + 1}`,
      ),
    );
    for (const [value, answer] of [
      ['umask', /^checkout_not_writable/],
      ['group', /^nothing$/],
      ['0660', /^nothing$/],
    ] as const) {
      checkout.git('config', 'core.sharedRepository', value);
      expect(await refusalOf(requireOwnRepository(checkout.gitDir, checkout.dir, own + 1))).to.match(answer);
    }
  });

  it('gets nothing of root, and keeps what it has', async function () {
    if (!isRoot) this.skip();
    const { remote, clone, commit, checkout } = scene();
    await deliver(checkout.dir, remote.dir, clone.dir, ref, commit);
    const place = await placeOf(checkout.dir, remote.dir);
    checkout.git('pack-refs', '--all');
    give(checkout.dir);
    const other = clone.commit({ 'd.txt': 'more\n' });
    const refusals = [
      () => checkCheckout(checkout.dir, remote.dir),
      () => writablePlace(checkout.dir, remote.dir),
      () => deliver(checkout.dir, remote.dir, clone.dir, `${ref}-2`, other),
      () => addRemote({ top: checkout.dir, gitDir: checkout.gitDir }, 'core', remote.dir),
    ];
    for (const refusal of refusals)
      expect(await refusalOf(refusal()))
        .to.contain(`checkout_not_writable: `)
        .and.contain(`user ${nobody}`);
    const withdrawn = await withdraw(place, remote.dir, ref, { commit, base: '', steps: [] });
    expect(withdrawn.state).to.equal('failed');
    expect(withdrawn.message).to.contain(`Run it as user ${nobody}`);
    expect(ownersIn(checkout.dir)).to.deep.equal([nobody]);
  });

  it('gets nothing of an ordinary user, who delivers into their own', async function () {
    if (!isRoot) this.skip();
    const { remote, clone, commit, checkout } = scene();
    give(remote.dir, clone.dir, checkout.dir);
    const args = [remote.dir, clone.dir, ref, commit] as const;
    expect(deliverAsNobody(checkout.dir, ...args)).to.equal('delivered');
    expect(ownersIn(checkout.dir)).to.deep.equal([nobody]);
    const { checkout: foreign } = scene();
    foreign.git('remote', 'set-url', 'origin', `file://${remote.dir}`);
    chmodSync(dirname(foreign.dir), 0o755);
    execFileSync('chmod', ['-R', 'a+rwX', foreign.dir]);
    expect(deliverAsNobody(foreign.dir, ...args)).to.match(/^checkout_not_writable: .* belongs to user 0: /);
    expect(ownersIn(foreign.dir)).to.deep.equal([0]);
  });

  it('is named with its owner if it cannot be read, or folders within it not be written', async function () {
    if (!isRoot) this.skip();
    const { remote, clone, commit, checkout } = scene();
    give(remote.dir, clone.dir, checkout.dir);
    const args = [remote.dir, clone.dir, ref, commit] as const;
    execFileSync('install', ['-d', '-m', '755', '-o', '0', join(checkout.gitDir, 'refs/heads/core')]);
    expect(deliverAsNobody(checkout.dir, ...args)).to.match(
      /^checkout_not_writable: git cannot write to .*Permission denied/s,
    );
    execFileSync('chown', ['0', checkout.gitDir]);
    chmodSync(checkout.gitDir, 0o700);
    expect(deliverAsNobody(checkout.dir, ...args)).to.match(
      /^not_a_repository: .*this user may not read .*\.git: it belongs to user 0, and this process is 65534/,
    );
    expect(await findCheckout(checkout.dir)).to.be.an('object');
  });
});
