import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { openTokens } from '#kit/tokens/tokens.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { displayWith } from '../../../test/fixtures/terminal/display.ts';
import { secretsInit } from './secrets-init.ts';

const example = fileURLToPath(new URL('../../../secrets.example', import.meta.url));
const isRoot = process.getuid?.() === 0;

function init(dir: string, options: { owner?: string; person?: string } = {}) {
  let text = '';
  const stdout = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  expect(secretsInit({ dir, json: true, stdout, display: displayWith(), ...options })).to.equal(0);
  return JSON.parse(text);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

describe('The secrets of the compose stack', () => {
  let project: string;
  beforeEach(() => {
    project = temporaryFolder();
  });

  it('are the files of secrets.example but those that others give, private, each its own', () => {
    const { made } = init(project);
    const person = openTokens({ tokens: join(project, 'secrets/registry') })
      .list()
      .find(({ kind }) => kind === 'person')!.name;
    const expected = filesIn(example)
      .filter((path) => !/^(forges|models|database)\//.test(path))
      .map((path) => (path === 'tokens/you.token' ? `tokens/${person}.token` : path));
    expect(filesIn(join(project, 'secrets'))).to.deep.equal(expected.sort());
    expect([...made, 'registry/registry.json'].sort()).to.deep.equal(expected);
    const contents = expected.map((path) => readFileSync(join(project, 'secrets', path), 'utf8').trim());
    expect(new Set(contents).size).to.equal(contents.length);
    for (const path of ['', 'tokens', 'registry', 'forges', 'models', 'database'])
      expect(statSync(join(project, 'secrets', path)).mode & 0o777, path).to.equal(0o700);
    for (const path of expected)
      expect(statSync(join(project, 'secrets', path)).mode & 0o777, path).to.equal(0o600);
    const password = readFileSync(join(project, 'secrets/neo4j-password'), 'utf8').trim();
    expect(readFileSync(join(project, 'secrets/neo4j-auth'), 'utf8')).to.equal(`neo4j/${password}\n`);
  });

  it('stay as they are when they are there, and what is missing is made', () => {
    init(project);
    const contents = () =>
      filesIn(join(project, 'secrets')).map((path) => readFileSync(join(project, 'secrets', path), 'utf8'));
    const before = contents();
    expect(init(project).made).to.deep.equal([]);
    expect(contents()).to.deep.equal(before);
    rmSync(join(project, 'secrets/neo4j-auth'));
    expect(init(project).made).to.deep.equal(['neo4j-auth']);
    expect(contents()).to.deep.equal(before);
  });

  it('belong to the user that .env names for the containers, and its other lines stay', () => {
    writeFileSync(join(project, '.env'), 'COMPOSE_PROJECT_NAME=mine\nCORE_UID=7\n\n');
    const { owner } = init(project);
    expect(owner.uid).to.be.above(0);
    const { uid, gid } = statSync(join(project, 'secrets/tokens/bridge.token'));
    expect({ uid, gid }).to.deep.equal(owner);
    const env = readFileSync(join(project, '.env'), 'utf8');
    expect(env).to.equal(`COMPOSE_PROJECT_NAME=mine\nCORE_UID=${uid}\nCORE_GID=${gid}\n`);
    if (!isRoot) return;
    expect(init(project, { owner: '4321:4322' }).owner).to.deep.equal({ uid: 4321, gid: 4322 });
    expect(init(project).owner).to.deep.equal({ uid: 4321, gid: 4322 });
  });

  it('sign for the person who is named, once', () => {
    const { made } = init(project, { person: 'Mira Example' });
    expect(made).to.include('tokens/mira-example.token');
    expect(init(project, { person: 'another' }).made).to.deep.equal([]);
  });

  it('are given to another by root alone, and never to root', () => {
    const refusal = (owner: string) => {
      try {
        init(project, { owner });
        return 'none';
      } catch (error) {
        return (error as CoreError).code;
      }
    };
    expect(refusal('4321:4322')).to.equal(isRoot ? 'none' : 'secrets_owner_refused');
    if (isRoot) expect(statSync(join(project, 'secrets/neo4j-auth')).uid).to.equal(4321);
    for (const owner of ['0:0', 'me', '1000', '-1:5'])
      expect(refusal(owner), owner).to.equal('owner_invalid');
  });

  it('are reported with the configuration files that the containers cannot read', () => {
    const said = () => {
      let text = '';
      const stdout = new Writable({
        write(chunk, _, done) {
          text += chunk;
          done();
        },
      });
      secretsInit({ dir: project, stdout, display: displayWith() });
      return text;
    };
    const folder = join(project, 'config/compose');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'core.json'), '{}', { mode: 0o644 });
    expect(said()).not.to.contain('cannot be read');
    chmodSync(join(folder, 'core.json'), 0o040);
    expect(said()).to.match(/core\.json cannot be read by that user: chmod -R a\+rX .*\/config\n/);
  });

  it('are refused where a password is empty', () => {
    mkdirSync(join(project, 'secrets'));
    writeFileSync(join(project, 'secrets/neo4j-password'), '\n');
    expect(() => init(project))
      .to.throw(CoreError)
      .with.property('code', 'secret_file_empty');
  });

  it('are rebuilt where a part of them was lost, and fit each other', () => {
    init(project);
    const secrets = join(project, 'secrets');
    const before = readFileSync(join(secrets, 'neo4j-auth'), 'utf8');
    rmSync(join(secrets, 'neo4j-password'));
    rmSync(join(secrets, 'tokens/worker.token'));
    const { made, kept } = init(project);
    expect(made).to.deep.equal(['neo4j-password', 'tokens/worker.token']);
    expect(kept).to.include('tokens/bridge.token').and.not.to.include('tokens/worker.token');
    expect(`neo4j/${readFileSync(join(secrets, 'neo4j-password'), 'utf8')}`).to.equal(before);
    const worker = readFileSync(join(secrets, 'tokens/worker.token'), 'utf8').trim();
    const tokens = openTokens({ tokens: join(secrets, 'registry') });
    expect(tokens.authenticate(worker)).to.deep.include({ name: 'worker' });
    expect(tokens.list().find(({ name }) => name === 'worker')!.kind).to.equal('service');
    expect(init(project).made).to.deep.equal([]);
  });

  it('are refused where one is no file, empty, or contradicts another', () => {
    init(project);
    const secrets = join(project, 'secrets');
    const refusal = () => {
      try {
        return init(project).made;
      } catch (error) {
        return (error as CoreError).code;
      }
    };
    writeFileSync(join(secrets, 'github-webhook'), '');
    expect(refusal()).to.equal('secret_file_empty');
    rmSync(join(secrets, 'github-webhook'));
    mkdirSync(join(secrets, 'github-webhook'));
    expect(refusal()).to.equal('secret_file_invalid');
    rmSync(join(secrets, 'github-webhook'), { recursive: true });
    writeFileSync(join(secrets, 'neo4j-password'), 'other\n');
    expect(refusal()).to.equal('secret_file_invalid');
    rmSync(join(secrets, 'neo4j-auth'));
    expect(refusal()).to.deep.equal(['neo4j-auth']);
    rmSync(join(secrets, 'models'), { recursive: true });
    writeFileSync(join(secrets, 'models'), '');
    expect(refusal()).to.equal('folder_invalid');
    expect(() => init(join(secrets, 'models')))
      .to.throw(CoreError)
      .with.property('code', 'folder_invalid');
  });

  it('give nothing away that lies elsewhere: links are not followed, and hard links are refused', () => {
    if (!isRoot) return void expect(isRoot).to.equal(false);
    const elsewhere = join(project, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'x'), 'theirs', { mode: 0o644 });
    mkdirSync(join(project, 'secrets'));
    symlinkSync(elsewhere, join(project, 'secrets/models'));
    symlinkSync(join(elsewhere, 'x'), join(project, 'secrets/link'));
    init(project, { owner: '4321:4322' });
    for (const path of [elsewhere, join(elsewhere, 'x')]) expect(statSync(path).uid, path).to.equal(0);
    expect(statSync(join(elsewhere, 'x')).mode & 0o777).to.equal(0o644);
    linkSync(join(elsewhere, 'x'), join(project, 'secrets/hard'));
    expect(() => init(project, { owner: '4321:4322' }))
      .to.throw(CoreError, 'hard link')
      .with.property('code', 'secrets_owner_refused');
    expect(statSync(join(elsewhere, 'x')).uid).to.equal(0);
  });

  it('leave .env to who has it, readable by nobody else than before, where a link leads', () => {
    const other = join(project, 'env-of-mine');
    writeFileSync(other, 'REDIS_URL=rediss://u:p@h\n', { mode: 0o640 });
    if (isRoot) chownSync(other, 77, 78);
    symlinkSync(other, join(project, '.env'));
    init(project);
    expect(lstatSync(join(project, '.env')).isSymbolicLink()).to.equal(true);
    expect(readFileSync(other, 'utf8')).to.match(/^REDIS_URL=.*\nCORE_UID=\d+\nCORE_GID=\d+\n$/);
    expect(statSync(other).mode & 0o777).to.equal(0o640);
    if (isRoot) expect(statSync(other)).to.include({ uid: 77, gid: 78 });
    const fresh = temporaryFolder();
    const { owner } = init(fresh);
    const stats = statSync(join(fresh, '.env'));
    expect({ uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o777 }).to.deep.equal({
      ...owner,
      mode: 0o600,
    });
  });
});
