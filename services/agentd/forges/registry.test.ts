import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { decode } from '#kit/decode.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import { failure } from '../../../test/contract/forge.contract.ts';
import { makeBareRepository } from '../../../test/fixtures/forges/bare-repository.ts';
import type { ForgeServer } from '../../../test/fixtures/forges/forge-server.ts';
import { startGiteaServer } from '../../../test/fixtures/forges/gitea-server.ts';
import type { ForgeFolders } from './configured-forge.ts';
import { forgeFor } from './find-forge.ts';
import { createForges, ForgesConfig, localForgeAdmin } from './registry.ts';

const none = secretFinder([]);

describe('the forges of config/forges.json', () => {
  const ref = { owner: 'demo', repo: 'hello' };
  let folder: string;
  let folders: ForgeFolders;
  let server: ForgeServer;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'core-forges-'));
    folders = {
      stateDir: join(folder, 'state'),
      secretsDir: join(folder, 'secrets'),
    };
    mkdirSync(folders.secretsDir, { recursive: true });
    server = await startGiteaServer();
    writeFileSync(join(folders.secretsDir, 'work-token'), server.state.token);
  });

  afterEach(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function config(): ForgesConfig {
    const work = {
      name: 'work',
      kind: 'gitea',
      base_url: server.url,
      clone_base_url: 'file:///',
      token_file: 'work-token',
      timeout_s: 2,
    };
    return decode(ForgesConfig, { forges: [{ name: 'local', kind: 'local' }, work] }, 'config/forges.json');
  }

  it('ships a local forge, and GitHub for those who have a token', async () => {
    const path = new URL('../../../config/forges.json', import.meta.url);
    const shipped = decode(ForgesConfig, JSON.parse(readFileSync(path, 'utf8')), 'config/forges.json');
    const forges = createForges(shipped, folders, none);
    expect([...forges.values()].map(({ name, kind }) => ({ name, kind }))).to.deep.equal([
      { name: 'local', kind: 'local' },
      { name: 'github', kind: 'github' },
    ]);
    expect(forges.get('github')!.missing()).to.contain(join(folders.secretsDir, 'github-token'));
    const forgeAdmin = localForgeAdmin(shipped, folders, none);
    const made = await forgeAdmin.init({ ...ref, from: null });
    expect(made.folder).to.equal(join(folders.stateDir, 'forge/demo/hello'));
    expect((await forgeFor(forges, ref)).name).to.equal('local');
    expect((await forgeFor(forges, { ...ref, forge: 'github' })).name).to.equal('github');
  });

  it('finds the only forge that knows a repository', async () => {
    const forges = createForges(config(), folders, none);
    server.state.addRepository({ ...ref, bare: makeBareRepository(folder) });
    expect((await forgeFor(forges, ref)).name).to.equal('work');
    await localForgeAdmin(config(), folders, none).init({ owner: 'demo', repo: 'mine', from: null });
    expect((await forgeFor(forges, { owner: 'demo', repo: 'mine' })).name).to.equal('local');
  });

  it('does not choose between two forges that know a repository', async () => {
    const forges = createForges(config(), folders, none);
    server.state.addRepository({ ...ref, bare: makeBareRepository(folder) });
    await localForgeAdmin(config(), folders, none).init({ ...ref, from: null });
    const error = await failure(forgeFor(forges, ref));
    expect(error).to.include({ name: 'Conflict', code: 'forge_ambiguous' });
    expect(error.message).to.contain('local, work');
    expect((await forgeFor(forges, { ...ref, forge: 'work' })).name).to.equal('work');
  });

  it('does not guess while a forge that may know the repository cannot be asked', async () => {
    await localForgeAdmin(config(), folders, none).init({ ...ref, from: null });
    server.faults.push({ path: /./, times: 9, answer: { status: 401, body: { message: 'token expired' } } });
    const error = await failure(forgeFor(createForges(config(), folders, none), ref));
    expect(error).to.include({ name: 'Unavailable', code: 'forge_unavailable', exitCode: 5 });
    expect(error.message).to.contain("'work'").and.contain('token expired');
    expect(error.hint).to.contain('--forge local');
  });

  it('stops asking when it is cancelled', async () => {
    server.faults.push({ path: /./, answer: 'hang' });
    const asked = forgeFor(createForges(config(), folders, none), ref, AbortSignal.timeout(30));
    expect(await failure(asked)).to.include({ name: 'Interrupted', code: 'interrupted' });
  });

  it('says who was asked for a repository that nobody knows', async () => {
    rmSync(join(folders.secretsDir, 'work-token'));
    const error = await failure(forgeFor(createForges(config(), folders, none), ref));
    expect(error).to.include({ name: 'NotFound', code: 'repository_not_found', exitCode: 4 });
    expect(error.message).to.contain('asked: local').and.contain('not asked: work');
    expect(server.state.requests).to.deep.equal([]);
  });

  it('lists the choices for a forge that is not there', async () => {
    const error = await failure(forgeFor(createForges(config(), folders, none), { ...ref, forge: 'gitlab' }));
    expect(error).to.include({ name: 'NotFound', code: 'forge_not_found' });
    expect(error.message).to.contain('local, work');
  });

  it('names the kinds of forges to one that it does not know', async () => {
    const read = async (forge: object) => decode(ForgesConfig, { forges: [forge] }, 'config/forges.json');
    expect((await failure(read({ name: 'a', kind: 'gitlab' }))).message).to.equal(
      'config/forges.json: /forges/0/kind is "gitlab": must be one of local, github, gitea',
    );
    expect((await failure(read({ name: 'a', kind: 'gitea', base_url: 'ftp://x' }))).message).to.contain(
      '/forges/0/base_url is "ftp://x": must be the http or https URL that people open',
    );
  });

  it('takes the address that people open, and not that of the API', async () => {
    const read = async (kind: string, base_url: string) =>
      decode(ForgesConfig, { forges: [{ name: 'a', kind, base_url }] }, 'config/forges.json');
    for (const [kind, base_url] of [
      ['github', 'https://git.acme.example/api/v3'],
      ['github', 'https://git.acme.example/github/api/v3/'],
      ['github', 'https://git.acme.example/api/graphql'],
      ['github', 'https://api.github.com'],
      ['github', 'https://API.github.com/'],
      ['gitea', 'https://git.acme.example/API/v1'],
    ] as const) {
      const { message } = await failure(read(kind, base_url));
      expect(message, base_url).to.include(base_url).and.include('without the path of the API (/api/v3)');
    }
    for (const base_url of [
      'https://git.acme.example',
      'https://acme.example/api',
      'https://acme.example/api/v3x',
    ])
      expect((await read('github', base_url)).forges).to.have.length(1);
  });

  it('refuses a configuration that cannot work', async () => {
    for (const forges of [
      [],
      [
        { name: 'a', kind: 'local' },
        { name: 'a', kind: 'local' },
      ],
      [{ name: 'a', kind: 'gitea' }],
      [{ name: 'a', kind: 'gitea', base_url: 'https://x', clone_base_url: 'http://x' }],
      [{ name: 'a', kind: 'github', clone_base_url: 'http://github.com' }],
    ]) {
      const call = async () =>
        createForges(decode(ForgesConfig, { forges }, 'config/forges.json'), folders, none);
      expect(await failure(call())).to.include({ name: 'InvalidInput', code: 'forges_invalid' });
    }
    for (const forge of [
      { name: 'A b', kind: 'local' },
      { name: 'a', kind: 'gitlab' },
      { name: 'a', kind: 'gitea', base_url: 'ftp://x' },
      { name: 'a', kind: 'gitea', base_url: 'https://me:secret@x' },
      { name: 'a', kind: 'github', timeout_s: 0 },
    ]) {
      const call = async () => decode(ForgesConfig, { forges: [forge] }, 'config/forges.json');
      expect(await failure(call())).to.include({ name: 'InvalidInput' });
    }
  });
});
