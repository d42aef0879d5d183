import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import { startGitServer } from '../../../test/fixtures/forges/git-server.ts';
import {
  type FileContent,
  makeBareRepository,
  makeRepository,
  type TestRepository,
} from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { makeSelfSigned } from '../../../test/fixtures/self-signed.ts';
import { exportTree } from '../git/export-tree.ts';
import { checkoutFacts, differencesFromCheckout } from './checkout-differences.ts';
import {
  fetchSubmodules,
  findSubmodules,
  placeSubmodules,
  type SubmoduleForge,
  type Submodules,
  storeOf,
} from './submodules.ts';

/** Environment of this process, changed for a test. */
const trusted = environment as { GIT_SSL_CAINFO: string | undefined };
const quiet = new AbortController().signal;
const terms = { hosts: [] as string[], maxBytes: 1024 * 1024 };

/** A forge in a folder, with real bare repositories of one owner. */
function makeForge() {
  const root = temporaryFolder();
  const place = (repo: string) => join(root, 'demo', repo, 'repository.git');
  const asked: string[] = [];
  const forge: SubmoduleForge = {
    name: 'local',
    locate(url) {
      const found = /^\/demo\/([^/]+)\/repository\.git$/.exec(
        url.startsWith(root) ? url.slice(root.length) : '',
      );
      return found === null ? null : { owner: 'demo', repo: found[1]!, number: null };
    },
    async repository({ owner, repo }) {
      asked.push(`${owner}/${repo}`);
      return { owner, repo, clone_url: place(repo) };
    },
    gitCredential: async () => null,
  };
  function add(
    repo: string,
    files: Readonly<Record<string, FileContent>>,
    links: Record<string, string> = {},
  ) {
    const work = makeRepository(files);
    for (const [path, commit] of Object.entries(links))
      work.git('update-index', '--add', '--cacheinfo', `160000,${commit},${path}`);
    if (Object.keys(links).length > 0) work.git('commit', '-q', '-m', 'Submodules');
    makeBareRepository(work, place(repo));
    return { work, commit: work.git('rev-parse', 'HEAD'), bare: place(repo) };
  }
  return { root, forge, asked, add };
}

function modules(entries: Readonly<Record<string, string>>): string {
  return Object.entries(entries)
    .map(
      ([path, url]) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n\tupdate = !touch pwned\n`,
    )
    .join('');
}

function find(stateDir: string, forge: SubmoduleForge, { bare, commit }: { bare: string; commit: string }) {
  return findSubmodules(stateDir, forge, { gitDir: bare, commit, clone_url: bare }, terms, quiet);
}

async function written(
  stateDir: string,
  from: { bare: string; commit: string },
  submodules: Submodules,
): Promise<string> {
  const into = join(temporaryFolder(), 'workspace');
  await exportTree(from.bare, from.commit, into);
  await placeSubmodules(stateDir, { mirror_dir: from.bare, tree: from.commit }, submodules, into);
  return into;
}

describe('The submodules of a validation', () => {
  it('are the approved commits at their paths, nested ones too, without anything of git', async () => {
    const { forge, add } = makeForge();
    const deep = add('deep', { 'deep.txt': 'deep\n' });
    const lib = add(
      'lib',
      {
        'lib.txt': 'lib\n',
        'run.sh': { content: '#!/bin/sh\n', mode: 0o755 },
        '.gitmodules': modules({ deep: '../../deep/repository.git' }),
      },
      { deep: deep.commit },
    );
    // The commit is behind the branch, and another one is at its head.
    const later = lib.work.commit({ 'lib.txt': 'later\n' });
    lib.work.git('push', '-q', lib.bare, 'main');
    expect(later).to.not.equal(lib.commit);
    const hello = add(
      'hello',
      { 'a.txt': 'a\n', '.gitmodules': modules({ 'vendor/lib': '../../lib/repository.git' }) },
      { 'vendor/lib': lib.commit },
    );
    const stateDir = temporaryFolder();
    const submodules = await find(stateDir, forge, hello);
    expect(submodules).to.deep.equal({
      forge: 'local',
      provided: [
        { path: 'vendor/lib', owner: 'demo', repo: 'lib', commit: lib.commit, url: undefined },
        { path: 'vendor/lib/deep', owner: 'demo', repo: 'deep', commit: deep.commit, url: undefined },
      ],
      missing: [],
    });
    const into = await written(stateDir, hello, submodules!);
    expect(readFileSync(join(into, 'vendor/lib/lib.txt'), 'utf8')).to.equal('lib\n');
    expect(lstatSync(join(into, 'vendor/lib/run.sh')).mode & 0o777).to.equal(0o755);
    expect(lstatSync(join(into, 'vendor/lib')).mode & 0o777).to.equal(0o755);
    expect(readFileSync(join(into, 'vendor/lib/deep/deep.txt'), 'utf8')).to.equal('deep\n');
    expect(readdirSync(join(into, '..'))).to.deep.equal(['workspace']);
    expect(
      readdirSync(into, { recursive: true }).filter((name) => /(^|\/)\.git$/.test(String(name))),
    ).to.deep.equal([]);
    const plan = { prepare: [], commands: [], submodules: submodules!, lfs: undefined };
    expect(differencesFromCheckout(await checkoutFacts(hello.bare, hello.commit, plan))).to.deep.equal([]);
  });

  it('are fetched again on a host that does not have them', async () => {
    const { forge, add } = makeForge();
    const lib = add('lib', { 'lib.txt': 'lib\n' });
    const hello = add(
      'hello',
      { '.gitmodules': modules({ lib: '../../lib/repository.git' }) },
      { lib: lib.commit },
    );
    const found = await find(temporaryFolder(), forge, hello);
    const other = temporaryFolder();
    await fetchSubmodules(other, forge, found!, terms);
    expect(readdirSync(join(await written(other, hello, found!), 'lib'))).to.deep.equal(['lib.txt']);
    rmSync(lib.bare, { recursive: true });
    await fetchSubmodules(other, forge, found!, terms);
  });

  it('come from another host only if it is allowed, also when they are fetched again', async () => {
    const { forge, add, asked } = makeForge();
    const lib = add('lib', { 'lib.txt': 'lib\n' });
    const url = 'https://127.0.0.1:9/demo/lib.git';
    const hello = add('hello', { '.gitmodules': modules({ lib: `${url}/` }) }, { lib: lib.commit });
    const stateDir = temporaryFolder();
    const allowed = { ...terms, hosts: ['127.0.0.1:9'] };
    const from = { gitDir: hello.bare, commit: hello.commit, clone_url: hello.bare };
    const refused = (await find(stateDir, forge, hello))!.missing[0]!;
    expect(refused.why).to.match(/is not a repository of forge 'local', and its host is not in fetch_hosts/);
    const away = (await findSubmodules(stateDir, forge, from, allowed, quiet))!;
    expect(away.missing[0]!.why).to.match(/cannot be reached|Connection refused/);
    const one = { owner: '127.0.0.1:9', repo: 'lib.git', url };
    await storeOf(stateDir, 'local', one).fetch(lib.bare, lib.commit, null, quiet);
    const found = (await findSubmodules(stateDir, forge, from, allowed, quiet))!;
    expect(found).to.deep.equal({
      forge: 'local',
      provided: [{ path: 'lib', ...one, commit: lib.commit }],
      missing: [],
    });
    expect(readFileSync(join(await written(stateDir, hello, found), 'lib/lib.txt'), 'utf8')).to.equal(
      'lib\n',
    );
    await fetchSubmodules(stateDir, forge, found, terms);
    const error = await fetchSubmodules(temporaryFolder(), forge, found, terms).catch((thrown) => thrown);
    expect(error.code).to.equal('host_not_allowed');
    expect(asked).to.deep.equal([]);
  });

  it('come over https from an allowed host with a certificate that GIT_SSL_CAINFO vouches for', async () => {
    const { root, forge, add } = makeForge();
    const lib = add('lib', { 'lib.txt': 'lib\n' });
    const tls = makeSelfSigned(temporaryFolder());
    const server = await startGitServer(root, '127.0.0.1', tls);
    try {
      const url = `${server.url}/demo/lib/repository.git`;
      const hello = add('hello', { '.gitmodules': modules({ lib: url }) }, { lib: lib.commit });
      const from = { gitDir: hello.bare, commit: hello.commit, clone_url: hello.bare };
      const allowed = { ...terms, hosts: [new URL(url).host] };
      const stateDir = temporaryFolder();
      const distrusted = (await findSubmodules(stateDir, forge, from, allowed, quiet))!;
      expect(distrusted.missing[0]!.why).to.match(/certificate/);
      trusted.GIT_SSL_CAINFO = tls.certificate_file;
      const found = (await findSubmodules(stateDir, forge, from, allowed, quiet))!;
      expect(found.missing).to.deep.equal([]);
      const into = await written(stateDir, hello, found);
      expect(readFileSync(join(into, 'lib/lib.txt'), 'utf8')).to.equal('lib\n');
      const other = temporaryFolder();
      await fetchSubmodules(other, forge, found, allowed);
      expect(readdirSync(join(await written(other, hello, found), 'lib'))).to.deep.equal(['lib.txt']);
    } finally {
      trusted.GIT_SSL_CAINFO = undefined;
      server.close();
    }
  });

  it('are bounded in bytes, all together and while they are fetched', async () => {
    const { forge, add } = makeForge();
    const lib = add('lib', { 'lib.txt': 'x'.repeat(600_000) });
    const noise = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => (at * 2654435761) >>> 13));
    const large = add('large', { 'large.bin': noise });
    const place = (name: string) => `../../${name}/repository.git`;
    const hello = add(
      'hello',
      { '.gitmodules': modules({ a: place('lib'), b: place('lib'), c: place('large') }) },
      { a: lib.commit, b: lib.commit, c: large.commit },
    );
    const stateDir = temporaryFolder();
    const from = { gitDir: hello.bare, commit: hello.commit, clone_url: hello.bare };
    const found = (await findSubmodules(stateDir, forge, from, { ...terms, maxBytes: 1_000_000 }, quiet))!;
    expect(found.provided.map(({ path }) => path)).to.deep.equal(['a']);
    expect(found.missing.map(({ path, why }) => `${path}: ${why}`)).to.deep.equal(
      ['b', 'c'].map(
        (path) => `${path}: with it the submodules would have more than submodules_mib of fetch_limits`,
      ),
    );
  });

  it('are left out if a change removed them, with what is below', async () => {
    const { forge, add } = makeForge();
    const lib = add('lib', { 'lib.txt': 'lib\n' });
    const files = { '.gitmodules': modules({ lib: '../../lib/repository.git' }) };
    const hello = add('hello', files, { lib: lib.commit });
    const stateDir = temporaryFolder();
    const found = await find(stateDir, forge, hello);
    hello.work.git('rm', '-q', '--cached', 'lib');
    const commit = hello.work.commit({ 'lib/own.txt': 'own\n' });
    hello.work.git('push', '-q', hello.bare, 'main');
    const into = await written(stateDir, { bare: hello.bare, commit }, found!);
    expect(readdirSync(join(into, 'lib'))).to.deep.equal(['own.txt']);
  });

  const refused: Readonly<Record<string, readonly [modules: string | null, why: RegExp]>> = {
    'no .gitmodules': [null, /there is no \.gitmodules/],
    'no entry': ['', /\.gitmodules has no URL for it/],
    'two entries': [
      `${modules({ lib: '../../lib/repository.git' })}[submodule "b"]\n\tpath = lib\n\turl = ../x\n`,
      /\.gitmodules has several entries for it/,
    ],
    'a broken file': ['[submodule "a\n', /\.gitmodules cannot be read/],
    'another host': [
      modules({ lib: 'https://evil.example.org/demo/lib.git' }),
      /is not a repository of forge 'local'/,
    ],
    'another folder': [
      modules({ lib: '../../../elsewhere/repository.git' }),
      /is not a repository of forge 'local'/,
    ],
    'a path outside of the forge': [
      modules({ lib: '/etc/demo/lib/repository.git' }),
      /is not a repository of forge 'local'$/,
    ],
    'a file URL': [modules({ lib: 'file:///tmp/x' }), /is not a repository of forge 'local'$/],
    'a program': [modules({ lib: 'ext::touch /tmp/pwned' }), /is not a plain https/],
    'a repository that is not there': [modules({ lib: '../../nothing/repository.git' }), /nothing/],
  };
  for (const [name, [text, why]] of Object.entries(refused)) {
    it(`are named with the reason, and nothing is fetched: ${name}`, async () => {
      const { forge, add } = makeForge();
      const lib = add('lib', { 'lib.txt': 'lib\n' });
      const files = { 'a.txt': 'a\n', ...(text !== null && { '.gitmodules': text }) };
      const hello = add('hello', files, { lib: lib.commit });
      const found = (await find(temporaryFolder(), forge, hello))!;
      expect(found.provided).to.deep.equal([]);
      expect(found.missing.map(({ path }) => path)).to.deep.equal(['lib']);
      expect(found.missing[0]!.why).to.match(why);
      const facts = await checkoutFacts(hello.bare, hello.commit, {
        prepare: [],
        commands: [],
        submodules: found,
        lfs: undefined,
      });
      expect(differencesFromCheckout(facts)).to.deep.equal([
        `not as in a checkout: lib is an empty folder: a submodule (${found.missing[0]!.why})`,
      ]);
    });
  }

  it('are named if the repository does not have the commit', async () => {
    const { forge, add } = makeForge();
    add('lib', { 'lib.txt': 'lib\n' });
    const files = { '.gitmodules': modules({ lib: '../../lib/repository.git' }) };
    const hello = add('hello', files, { lib: '1'.repeat(40) });
    const found = (await find(temporaryFolder(), forge, hello))!;
    expect(found).to.deep.include({ provided: [] });
    expect(found.missing).to.have.length(1);
  });

  it('are bounded in depth, so that a repository may contain itself by name', async () => {
    const { forge, add } = makeForge();
    let child = add('level0', { 'end.txt': '' });
    for (let level = 1; level <= 6; level++)
      child = add(
        `level${level}`,
        { '.gitmodules': modules({ s: `../../level${level - 1}/repository.git` }) },
        { s: child.commit },
      );
    const found = (await find(temporaryFolder(), forge, child))!;
    expect(found.provided.map(({ path }) => path)).to.deep.equal(['s', 's/s', 's/s/s', 's/s/s/s']);
    expect(found.missing).to.deep.equal([{ path: 's/s/s/s/s', why: 'it is more than 4 submodules deep' }]);
  });

  it('are bounded in number', async () => {
    const { forge, add } = makeForge();
    const lib = add('lib', { 'lib.txt': 'lib\n' });
    const paths = Array.from({ length: 40 }, (_, at) => `m/${String(at).padStart(2, '0')}`);
    const all = (value: string) => Object.fromEntries(paths.map((path) => [path, value]));
    const files = { '.gitmodules': modules(all('../../lib/repository.git')) };
    const hello = add('hello', files, all(lib.commit));
    const found = (await find(temporaryFolder(), forge, hello))!;
    expect(found.provided).to.have.length(32);
    expect(found.missing.map(({ why }) => why)).to.deep.equal(
      Array(8).fill('at most 32 submodules are provided'),
    );
  });

  const inTheWay: Readonly<Record<string, (workspace: string, outside: string) => void>> = {
    'a link': (workspace, outside) => {
      rmSync(join(workspace, 'vendor/lib'), { recursive: true });
      symlinkSync(outside, join(workspace, 'vendor/lib'));
    },
    'a link above': (workspace, outside) => {
      rmSync(join(workspace, 'vendor'), { recursive: true });
      mkdirSync(join(outside, 'lib'));
      symlinkSync(outside, join(workspace, 'vendor'));
    },
    'a file': (workspace) => {
      rmSync(join(workspace, 'vendor/lib'), { recursive: true });
      writeFileSync(join(workspace, 'vendor/lib'), '');
    },
    'a folder with a file': (workspace) => writeFileSync(join(workspace, 'vendor/lib/x'), ''),
  };
  for (const [name, put] of Object.entries(inTheWay)) {
    it(`are written to their own folder alone: refused is ${name}`, async () => {
      const { forge, add } = makeForge();
      const lib = add('lib', { 'lib.txt': 'lib\n' });
      const files = { '.gitmodules': modules({ 'vendor/lib': '../../lib/repository.git' }) };
      const hello = add('hello', files, { 'vendor/lib': lib.commit });
      const stateDir = temporaryFolder();
      const found = (await find(stateDir, forge, hello))!;
      const outside = temporaryFolder();
      const into = join(temporaryFolder(), 'workspace');
      await exportTree(hello.bare, hello.commit, into);
      put(into, outside);
      const place = { mirror_dir: hello.bare, tree: hello.commit };
      const message = await placeSubmodules(stateDir, place, found, into).then(
        () => 'written',
        (error: unknown) => messageOf(error),
      );
      expect(message).to.match(/the submodule 'vendor\/lib' cannot be written/);
      expect(readdirSync(outside, { recursive: true }).filter((path) => path !== 'lib')).to.deep.equal([]);
    });
  }

  it('are not written if a name in them would open a git folder', async () => {
    const { forge, add } = makeForge();
    const lib = add('lib', { 'lib.txt': 'lib\n' });
    const commit = withGitFolder(lib.work);
    lib.work.git('push', '-q', lib.bare, 'HEAD:refs/heads/evil');
    const files = { '.gitmodules': modules({ lib: '../../lib/repository.git' }) };
    const hello = add('hello', files, { lib: commit });
    const stateDir = temporaryFolder();
    const found = (await find(stateDir, forge, hello))!;
    if (found.provided.length > 0) {
      const message = await written(stateDir, hello, found).then(
        () => 'written',
        (error: unknown) => messageOf(error),
      );
      expect(message).to.match(/git folder/);
    }
    expect(existsSync(join(stateDir, 'pwned'))).to.equal(false);
  });
});

/** A commit with a file `GIT~1`, which Windows takes for `.git`. */
function withGitFolder(work: TestRepository): string {
  const blob = work.git('rev-parse', 'HEAD:lib.txt');
  work.git('-c', 'core.protectNTFS=false', 'update-index', '--add', '--cacheinfo', `100644,${blob},GIT~1`);
  work.git('commit', '-q', '-m', 'Evil');
  return work.git('rev-parse', 'HEAD');
}
