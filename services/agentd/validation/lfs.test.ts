import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import { lfsObjectOf } from '#kit/git/lfs-pointer.ts';
import { openConnections } from '#kit/http/client.ts';
import { type LfsFixture, lfsPointer, startLfsServer } from '../../../test/fixtures/forges/lfs-server.ts';
import {
  type FileContent,
  makeBareRepository,
  makeRepository,
} from '../../../test/fixtures/repositories/repository.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { makeSelfSigned } from '../../../test/fixtures/self-signed.ts';
import { describeWith } from '../../../test/needs.ts';
import { exportTree } from '../git/export-tree.ts';
import { fetchLfsObjects, lfsServerOf } from '../git/lfs-server.ts';
import { checkoutFacts, differencesFromCheckout } from './checkout-differences.ts';
import { fetchLfs, findLfs, type Lfs, placeLfs } from './lfs.ts';

const quiet = new AbortController().signal;
const attributes = '*.bin filter=lfs diff=lfs merge=lfs -text\n';
const terms = { hosts: [] as string[], limits: { lfs_objects: 10, lfs_mib: 1 } };

function scene(
  clone_url: string,
  files: Readonly<Record<string, FileContent>>,
  credential: GitCredential | null = null,
) {
  const work = makeRepository({ '.gitattributes': attributes, ...files });
  const { dir: mirror_dir } = makeBareRepository(work);
  const base_commit = work.git('rev-parse', 'HEAD');
  const source = { mirror_dir, base_commit, clone_url, credential };
  return {
    source,
    work,
    find: async (more = terms) => (await findLfs(source, more, [], quiet))!,
    async written(lfs: Lfs, tree = base_commit): Promise<string> {
      const into = join(temporaryFolder(), 'workspace');
      await exportTree(mirror_dir, tree, into);
      await placeLfs({ mirror_dir, tree }, lfs, into);
      expect(readdirSync(dirname(into))).to.deep.equal(['workspace']);
      return into;
    },
    async differences(lfs: Lfs): Promise<string[]> {
      const plan = { prepare: [], commands: [], submodules: undefined, lfs };
      return differencesFromCheckout(await checkoutFacts(mirror_dir, base_commit, plan));
    },
  };
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'nothing',
    (error) => `${error.code}: ${error.message}`,
  );
}

describe('A pointer of Git LFS', () => {
  it('is read as version 1 of the specification says', () => {
    const oid = 'a'.repeat(64);
    expect(lfsObjectOf(Buffer.from(lfsPointer({ oid, size: 12 })))).to.deep.equal({ oid, size: 12 });
    for (const text of [
      lfsPointer({ oid, size: 12 }).replace('sha256:', 'sha1:'),
      lfsPointer({ oid: `../../${oid}`, size: 12 }),
      lfsPointer({ oid, size: -1 }),
      'hello\n',
    ])
      expect(lfsObjectOf(Buffer.from(text)), text).to.equal(null);
  });
});

describe('The objects of Git LFS of a validation', () => {
  let server: LfsFixture;
  beforeEach(async () => {
    server = await startLfsServer();
  });
  afterEach(() => server.close());

  it('of submodules are named as missing, nested ones too', async () => {
    const oid = 'b'.repeat(64);
    const files = { '.gitattributes': attributes, 'art/a.bin': lfsPointer({ oid, size: 3 }) };
    const lib = makeRepository(files);
    const commit = lib.git('rev-parse', 'HEAD');
    const { dir } = makeBareRepository(lib);
    const { source } = scene('https://127.0.0.1:9/demo/hello.git', { 'a.txt': 'a\n' });
    const submodules = ['lib', 'lib/deep'].map((path) => ({ path, dir, commit }));
    expect(await findLfs(source, terms, submodules, quiet)).to.deep.equal({
      provided: [],
      missing: ['lib', 'lib/deep'].map((path) => ({
        path: `${path}/art/a.bin`,
        why: 'objects of submodules are not fetched',
      })),
    });
  });

  const token = (): GitCredential => ({
    username: 'core',
    password: 'secret',
    origins: [server.origin],
    source: 'the token in /secrets/forge',
  });
  const basic = `Basic ${Buffer.from('core:secret').toString('base64')}`;

  it('stand in the place of their pointers, with the mode of the file, and the mirror keeps them', async () => {
    server.authorization = basic;
    const [one, two] = [server.add('one\n'), server.add('#!/bin/sh\n')];
    const { source, find, written, differences } = scene(
      server.clone_url,
      {
        'a.bin': lfsPointer(one),
        'deep/ü.bin': lfsPointer(one),
        'run.bin': { content: lfsPointer(two), mode: 0o755 },
        'a.txt': lfsPointer(one),
        'whole.bin': 'as it is\n',
      },
      token(),
    );
    const lfs = await find();
    expect(lfs).to.deep.equal({
      provided: [
        { path: 'a.bin', ...one },
        { path: 'run.bin', ...two },
      ],
      missing: [],
    });
    const into = await written(lfs);
    const textOf = (path: string) => readFileSync(join(into, path), 'utf8');
    expect(textOf('a.bin')).to.equal('one\n');
    expect(textOf('deep/ü.bin')).to.equal('one\n');
    expect(textOf('run.bin')).to.equal('#!/bin/sh\n');
    expect(statSync(join(into, 'run.bin')).mode & 0o777).to.equal(0o755);
    expect(statSync(join(into, 'a.bin')).mode & 0o777).to.equal(0o644);
    expect(textOf('a.txt')).to.match(/^version/);
    expect(textOf('whole.bin')).to.equal('as it is\n');
    expect(await differences(lfs)).to.deep.equal([]);
    expect(readdirSync(join(source.mirror_dir, 'lfs')).toSorted()).to.deep.equal(
      [one.oid, two.oid].toSorted(),
    );
    const before = server.asked.length;
    expect(await find()).to.deep.equal(lfs);
    await fetchLfs(async () => source, source.mirror_dir, [], lfs, quiet);
    expect(server.asked).to.have.length(before);
  });

  it('are fetched again if the mirror lost them, and refused if they were changed there', async () => {
    const one = server.add('one\n');
    const { source, find, written } = scene(server.clone_url, { 'a.bin': lfsPointer(one) });
    const lfs = await find();
    rmSync(join(source.mirror_dir, 'lfs'), { recursive: true });
    await fetchLfs(async () => source, source.mirror_dir, [], lfs, quiet);
    const stored = join(source.mirror_dir, 'lfs', one.oid);
    writeFileSync(stored, 'bad\n');
    expect(await failureOf(written(lfs))).to.match(/^lfs_object_damaged: /);
    await fetchLfs(async () => source, source.mirror_dir, [], lfs, quiet);
    expect(readFileSync(join(await written(lfs), 'a.bin'), 'utf8')).to.equal('one\n');
    rmSync(stored);
    server.offers.set(one.oid, { error: { code: 404, message: 'gone' } });
    expect(await failureOf(fetchLfs(async () => source, source.mirror_dir, [], lfs, quiet))).to.equal(
      'lfs_object_missing: the approved object of Git LFS for a.bin cannot be had: the LFS server does not have its object',
    );
  });

  it('are kept for 30 days after their last use', async () => {
    const [one, two] = [server.add('one\n'), server.add('two\n')];
    const { source, find } = scene(server.clone_url, { 'a.bin': lfsPointer(one) });
    const lfs = await find();
    const store = join(source.mirror_dir, 'lfs');
    writeFileSync(join(store, two.oid), 'two\n');
    writeFileSync(join(store, `.${two.oid}-left`), 'tw');
    for (const days of [20, 31]) {
      const at = new Date(Date.now() - days * 24 * 3_600_000);
      for (const name of readdirSync(store)) utimesSync(join(store, name), at, at);
      if (days === 20) await fetchLfs(async () => source, source.mirror_dir, [], lfs, quiet);
      if (days === 20) expect(statSync(join(store, one.oid)).mtimeMs).to.be.above(Date.now() - 3_600_000);
    }
    await find();
    expect(readdirSync(store)).to.deep.equal([one.oid]);
  });

  it('are not fetched for a pointer that the change adds', async () => {
    const [one, two] = [server.add('one\n'), server.add('two\n')];
    const { source, work, find, written } = scene(server.clone_url, { 'a.bin': lfsPointer(one) });
    const lfs = await find();
    const changed = work.commit({ 'b.bin': lfsPointer(two), 'c.bin': lfsPointer(one) });
    work.git('push', '-q', source.mirror_dir, 'HEAD:refs/heads/changed');
    const into = await written(lfs, changed);
    expect(readFileSync(join(into, 'b.bin'), 'utf8')).to.match(/^version/);
    expect(readFileSync(join(into, 'c.bin'), 'utf8')).to.equal('one\n');
  });

  it('are missing with the reason: not there, wrong, too many or too large', async () => {
    const [good, short, long, wrong] = ['good\n', 'short\n', 'long\n', 'wrong\n'].map((text) =>
      server.add(text),
    );
    server.answers.set(`/objects/${short!.oid}`, { body: 'shor' });
    server.answers.set(`/objects/${long!.oid}`, { body: 'longer and longer\n' });
    server.answers.set(`/objects/${wrong!.oid}`, { body: 'wrung\n' });
    const absent = { oid: 'b'.repeat(64), size: 3 };
    const large = { oid: 'c'.repeat(64), size: 2 * 1024 * 1024 };
    const { source, find, differences } = scene(server.clone_url, {
      'a.bin': lfsPointer(good!),
      'b.bin': lfsPointer(short!),
      'c.bin': lfsPointer(long!),
      'd.bin': lfsPointer(wrong!),
      'e.bin': lfsPointer(absent),
      'f.bin': lfsPointer(large),
      'g.bin': lfsPointer(large).replace('sha256', 'md5'),
    });
    const lfs = await find();
    expect(lfs.provided.map(({ path }) => path)).to.deep.equal(['a.bin']);
    const reasons = Object.fromEntries(lfs.missing.map(({ path, why }) => [path, why]));
    expect(reasons['b.bin']).to.equal('its object has 4 bytes; the pointer says 6');
    expect(reasons['c.bin']).to.match(/longer than the 5 bytes/);
    expect(reasons['d.bin']).to.match(/another content/);
    expect(reasons['e.bin']).to.equal('the LFS server does not have its object');
    expect(reasons['f.bin']).to.equal(
      'with it the objects would have more than 1 MiB: lfs_mib of fetch_limits',
    );
    expect(reasons['g.bin']).to.equal('the pointer is damaged');
    expect(readdirSync(join(source.mirror_dir, 'lfs'))).to.deep.equal([good!.oid]);
    expect(await differences(lfs)).to.contain(
      `not as in a checkout: e.bin is a pointer of Git LFS, not the file (${reasons['e.bin']})`,
    );
    const few = await find({ ...terms, limits: { lfs_objects: 1, lfs_mib: 1 } });
    expect(few.missing[0]!.why).to.match(/^at most 1 objects are provided/);
  });

  it('are missing with the reason if the server refuses or has no LFS', async () => {
    const one = server.add('one\n');
    const { find } = scene(server.clone_url, { 'a.bin': lfsPointer(one) });
    for (const [status, why] of [
      [401, /does not let us in without a token \(401\)/],
      [404, /there is no LFS server at/],
      [302, /sends us on to another address/],
      [503, /answers with status 503/],
    ] as const) {
      server.batchStatus = status;
      expect((await find()).missing[0]!.why).to.match(why);
    }
    const { find: unreachable } = scene('http://127.0.0.1:9/demo/hello.git', { 'a.bin': lfsPointer(one) });
    expect((await unreachable()).missing[0]!.why).to.match(/does not answer/);
    const { find: ssh } = scene('git@example.org:demo/hello.git', { 'a.bin': lfsPointer(one) });
    expect((await ssh()).missing[0]!.why).to.equal('the repository has no https or http address');
  });

  it('come from a repository on this machine too', async () => {
    const content = 'one\n';
    const oid = createHash('sha256').update(content).digest('hex');
    const remote = makeBareRepository();
    const place = join(remote.dir, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
    for (const url of [remote.dir, `file://${remote.dir}`]) {
      const { find, written } = scene(url, { 'a.bin': lfsPointer({ oid, size: 4 }) });
      expect(readFileSync(join(await written(await find()), 'a.bin'), 'utf8')).to.equal(content);
    }
    rmSync(place);
    const { find } = scene(remote.dir, { 'a.bin': lfsPointer({ oid, size: 4 }) });
    expect((await find()).missing[0]!.why).to.equal('the repository does not have its object');
    mkdirSync(place);
    expect((await find()).missing[0]!.why).to.match(/must be a regular file/);
  });

  it('are never asked of a host that only the repository names', async () => {
    const other = await startLfsServer();
    try {
      const one = other.add('one\n');
      const { find } = scene(
        server.clone_url,
        { 'a.bin': lfsPointer(one), '.lfsconfig': `[lfs]\n\turl = ${other.clone_url}/info/lfs\n` },
        token(),
      );
      const hosts = [new URL(other.origin).host];
      for (const more of [terms, { ...terms, hosts }])
        expect((await find(more)).missing[0]!.why).to.match(
          /^\.lfsconfig names .*fetch_hosts of validation\.json$/,
        );
      expect([...other.asked, ...server.asked]).to.deep.equal([]);
    } finally {
      await other.close();
    }
  });

  it('are asked of another path of the forge if .lfsconfig names it', async () => {
    const one = server.add('one\n');
    const { find } = scene('http://127.0.0.1:9/x/y', { 'a.bin': lfsPointer(one) });
    expect((await find()).provided).to.deep.equal([]);
    const { find: named } = scene(`${server.origin}/another/name`, {
      'a.bin': lfsPointer(one),
      '.lfsconfig': `[lfs]\n\turl = ${server.clone_url}/info/lfs/\n`,
    });
    expect((await named()).provided).to.have.length(1);
  });
});

describe('Which LFS server a repository has', () => {
  const credential = { username: 'a', password: 'b', origins: ['https://git.example.org'], source: 'here' };
  const clone = 'https://git.example.org/demo/hello.git';
  const of = (named: string | null, hosts: string[] = []) => lfsServerOf(clone, credential, named, hosts);

  it('is that beside the repository, or one that is allowed', () => {
    const own = { url: `${clone}/info/lfs`, credential };
    expect(of(null)).to.deep.equal(own);
    expect(lfsServerOf('https://git.example.org/demo/hello/', credential, null, [])).to.deep.equal(own);
    expect(of('https://git.example.org/lfs/')).to.deep.equal({
      url: 'https://git.example.org/lfs',
      credential,
    });
    expect(of('https://lfs.example.com/x', ['lfs.example.com'])).to.deep.equal({
      url: 'https://lfs.example.com/x',
      credential: null,
    });
  });

  it('is none that asks for a password, a program, a plain connection or another host', () => {
    for (const named of [
      'https://lfs.example.com/x',
      'http://lfs.example.com/x',
      'http://git.example.org/x',
      'https://me:secret@git.example.org/x',
      'ssh://git.example.org/x',
      'file:///etc',
      '/etc',
      'ext::sh -c true',
      'https://git.example.org.evil.example/x',
    ])
      expect(of(named, ['git.example.org']), named)
        .to.have.property('refused')
        .that.does.not.contain('secret');
  });
});

describeWith(['openssl'], 'A download of Git LFS from another host', () => {
  it('gets the headers that the server gave, and never the credentials', async () => {
    const files = makeSelfSigned(temporaryFolder(), ['localhost']);
    const tls = {
      key: readFileSync(files.key_file, 'utf8'),
      cert: readFileSync(files.certificate_file, 'utf8'),
    };
    const [server, storage] = [await startLfsServer(), await startLfsServer(tls)];
    const connections = openConnections({ ca: tls.cert });
    try {
      const [given, moved, plain, own] = ['given\n', 'moved\n', 'plain\n', 'own\n'].map((text) => {
        storage.add(text);
        return server.add(text);
      });
      const href = ({ oid }: { oid: string }, origin = storage.origin) => `${origin}/objects/${oid}`;
      const header = { 'x-signed': 'yes', host: 'evil.example.org' };
      server.offers.set(given!.oid, { actions: { download: { href: href(given!), header } } });
      server.answers.set(`/objects/${moved!.oid}`, {
        status: 307,
        headers: { location: href(moved!) },
        body: '',
      });
      const http = href(plain!, storage.origin.replace('https:', 'http:'));
      server.offers.set(plain!.oid, { actions: { download: { href: http } } });
      const credential = {
        username: 'core',
        password: 'secret',
        origins: [server.origin],
        source: 'a token',
      };
      const folder = temporaryFolder();
      const missing = await fetchLfsObjects(
        { url: `${server.clone_url}/info/lfs`, credential },
        [given!, moved!, plain!, own!],
        folder,
        quiet,
        connections,
      );
      expect([...missing.keys()]).to.deep.equal([plain!.oid]);
      expect(missing.get(plain!.oid)).to.match(/which is not https$/);
      expect(readdirSync(folder).toSorted()).to.deep.equal([given!.oid, moved!.oid, own!.oid].toSorted());
      expect(storage.asked).to.have.length(2);
      for (const { headers, path } of storage.asked) {
        expect(headers.authorization).to.equal(undefined);
        expect(headers.host).to.equal(new URL(storage.origin).host);
        expect(headers['x-signed']).to.equal(path.endsWith(given!.oid) ? 'yes' : undefined);
      }
      const asked = server.asked.filter(({ path }) => path.startsWith('/objects/'));
      for (const { headers } of asked) expect(headers.authorization).to.match(/^Basic /);
    } finally {
      await connections.destroy();
      await server.close();
      await storage.close();
    }
  });
});

describeWith(['gitea'], 'The LFS server of a real Gitea', () => {
  it('gives objects to the account of the token, and to nobody else', async () => {
    const url = environment.CORE_TEST_GITEA_URL!.replace(/\/+$/, '');
    const username = environment.CORE_TEST_GITEA_USER!;
    const password = environment.CORE_TEST_GITEA_PASSWORD!;
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    const call = (method: string, path: string, type: string, body?: string) =>
      fetch(`${url}${path}`, {
        method,
        headers: { authorization, 'content-type': type, accept: type },
        body: body ?? null,
      });
    const repo = `lfs-${randomUUID()}`;
    const content = 'a large file\n';
    const oid = createHash('sha256').update(content).digest('hex');
    const object = { oid, size: content.length };
    const made = JSON.stringify({ name: repo, private: true });
    expect((await call('POST', '/api/v1/user/repos', 'application/json', made)).status).to.equal(201);
    try {
      const clone_url = `${url}/${username}/${repo}.git`;
      const upload = `/${username}/${repo}.git/info/lfs/objects/${oid}/${object.size}`;
      expect((await call('PUT', upload, 'application/octet-stream', content)).status).to.equal(200);
      const credential = { username, password, origins: [new URL(url).origin], source: 'the token' };
      const pointers = { 'a.bin': lfsPointer(object), 'b.bin': lfsPointer({ oid: 'b'.repeat(64), size: 3 }) };
      const { find, written } = scene(clone_url, pointers, credential);
      const lfs = await find();
      expect(lfs).to.deep.equal({
        provided: [{ path: 'a.bin', ...object }],
        missing: [{ path: 'b.bin', why: 'the LFS server does not have its object' }],
      });
      expect(readFileSync(join(await written(lfs), 'a.bin'), 'utf8')).to.equal(content);
      const stranger = await scene(clone_url, pointers).find();
      expect(stranger.provided).to.deep.equal([]);
      expect(stranger.missing[0]!.why).to.match(/does not let us in without a token|there is no LFS server/);
    } finally {
      await call('DELETE', `/api/v1/repos/${username}/${repo}`, 'application/json');
    }
  });
});
