import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Failed } from './errors.ts';
import { prepareFolder, resolveFolders } from './folders.ts';

const bare = {
  CORE_HOME: undefined,
  CORE_STATE_DIR: undefined,
  CORE_CONFIG_DIR: undefined,
  XDG_STATE_HOME: undefined,
  XDG_CONFIG_HOME: undefined,
  HOME: '/home/mira',
};

describe('Folders', () => {
  it('lie where the XDG specification puts them by default', () => {
    const folders = resolveFolders({}, bare);
    expect(folders.state).to.equal('/home/mira/.local/state/core');
    expect(folders.config).to.equal('/home/mira/.config/core');
    expect(folders.secrets).to.equal('/home/mira/.config/core/secrets');
    expect(folders.tokens).to.equal('/home/mira/.config/core/tokens');
    expect(folders.origin).to.deep.equal({ state: 'default', config: 'default' });
    expect(resolveFolders({}, { ...bare, XDG_STATE_HOME: '/xdg' }).state).to.equal('/xdg/core');
    expect(resolveFolders({}, { ...bare, XDG_STATE_HOME: 'relative' }).origin.state).to.equal('default');
  });

  it('let flags win over the environment', () => {
    const environment = { ...bare, CORE_HOME: '/env', CORE_STATE_DIR: '/env-state' };
    expect(resolveFolders({}, environment)).to.include({ state: '/env-state', config: '/env/config' });
    expect(resolveFolders({ home: '/flag' }, environment)).to.include({
      state: '/flag/state',
      config: '/flag/config',
    });
  });

  it('of secrets, tokens and their registry lie where the environment says, unless a flag does', () => {
    const environment = { ...bare, CORE_SECRETS_DIR: '/s', CORE_TOKENS_DIR: '/t' };
    expect(resolveFolders({}, environment)).to.include({ secrets: '/s', tokens: '/t', registry: '/t' });
    expect(resolveFolders({}, { ...environment, CORE_REGISTRY_DIR: '/r' }).registry).to.equal('/r');
    expect(resolveFolders({ home: '/flag' }, environment)).to.include({
      secrets: '/flag/config/secrets',
      tokens: '/flag/config/tokens',
      registry: '/flag/config/tokens',
    });
  });

  it('are refused when they have no name', () => {
    expect(() => resolveFolders({ home: ' ' }, bare)).to.throw(/--home is " ": must be the path of a folder/);
  });

  it('are made private, and say what is wrong when they cannot be made', () => {
    const root = mkdtempSync(join(tmpdir(), 'core-folders-'));
    try {
      prepareFolder(join(root, 'a/b'), 'state');
      expect(statSync(join(root, 'a/b')).mode & 0o777).to.equal(0o700);
      writeFileSync(join(root, 'file'), '');
      expect(() => prepareFolder(join(root, 'file/state'), 'state'))
        .to.throw(Failed, /a part of the path is not a folder/)
        .with.property('code', 'state_not_writable');
      expect(() => prepareFolder(join('/proc', 'core'), 'config')).to.throw(
        Failed,
        /config folder \/proc\/core/,
      );
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
