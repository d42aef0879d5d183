import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { secretFrom } from './key-file.ts';
import { accepted } from './model-options.ts';
import { secretsOnlyIn } from './models-file.ts';

const upstream = { name: 'main', url: 'https://api.example.com/v1' };

describe('The key of a model that is added', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'core-key-file-'));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const folders = () => resolveFolders({ home }, {} as never);
  function copied(key: string, secretName?: string) {
    const path = join(home, 'given');
    writeFileSync(path, `${key}\n`);
    return secretFrom(path, folders(), { ...upstream, secretName });
  }

  it('is copied under a free name, or found under the one that it has', () => {
    const plain = 'model-main-api.example.com';
    expect(copied('sk-first-key')).to.deep.equal({ name: plain, made: true, isShort: false });
    expect(copied('sk-second-key')).to.include({ name: `${plain}-2`, made: true });
    expect(copied('sk-third-key')).to.include({ name: `${plain}-3`, made: true });
    expect(copied('sk-second-key')).to.include({ name: `${plain}-2`, made: false });
    expect(readFileSync(join(folders().secrets, plain), 'utf8')).to.equal('sk-first-key\n');
  });

  it('is copied under the name that was asked for, unless that holds another one', () => {
    expect(copied('sk-first-key', 'mine')).to.include({ name: 'mine', made: true });
    expect(() => copied('sk-second-key', 'mine'))
      .to.throw(CoreError, 'mine holds another key')
      .with.property('code', 'secret_exists');
    expect(() => copied('sk-second-key', '../mine')).to.throw(CoreError, '--secret-name');
    expect(readdirSync(folders().secrets)).to.deep.equal(['mine']);
  });

  it('may already be in the secrets; a short key is marked', () => {
    copied('sk-first-key', 'mine');
    const path = join(folders().secrets, 'mine');
    expect(secretFrom(path, folders(), upstream)).to.deep.equal({
      name: 'mine',
      made: false,
      isShort: false,
    });
    expect(copied('ollama').isShort).to.equal(true);
  });

  it('is asked for again as long as it cannot be', () => {
    const wrong = accepted(() => secretFrom(join(home, 'nowhere'), folders(), upstream));
    expect(wrong).to.match(/^the key cannot be read from .*nowhere: ENOENT$/);
    expect(accepted(() => copied('sk-first-key'))).to.equal(true);
  });
});

describe('Secrets that a change of the models leaves behind', () => {
  it('are those that no other upstream uses', () => {
    const entry = { kind: 'openai' as const, base_url: 'https://a.example/v1', model: 'm' };
    const withSecrets = (...names: string[]) => ({
      upstreams: names.map((credential) => ({ ...entry, credential })),
    });
    const rest = { b: withSecrets('shared'), c: { upstreams: [entry] } };
    const before = { models: { a: withSecrets('own', 'shared', 'own'), ...rest } };
    expect(secretsOnlyIn(before, { models: rest })).to.deep.equal(['own']);
  });
});
