import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { missingPrograms } from './missing-programs.ts';
import { searchPath } from './tool-paths.ts';

/** A home as a version manager leaves it: files with their text, and links with where they lead. */
interface Home {
  readonly manager: string;
  readonly program: string;
  /** Where PATH finds it. */
  readonly onPath: string;
  readonly files: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly variables?: { readonly RUSTUP_HOME?: string };
  /** What is proposed; none where the sandbox may see no folder of it. */
  readonly folder: string | null;
}

const toolchain = '.rustup/toolchains/stable-x86_64-unknown-linux-gnu';
const cargo = { '.cargo/bin/rustup': 'rustup', '.cargo/credentials.toml': 'token = "swordfish"' };

const homes: readonly Home[] = [
  {
    manager: 'rustup, by links',
    program: 'corecargo',
    onPath: '.cargo/bin/corecargo',
    files: {
      ...cargo,
      [`${toolchain}/bin/corecargo`]: 'cargo',
      '.rustup/toolchains/nightly-x86_64-unknown-linux-gnu/bin/corecargo': 'nightly',
      '.rustup/settings.toml': 'version = "12"\ndefault_toolchain = "stable-x86_64-unknown-linux-gnu"\n',
    },
    links: { '.cargo/bin/corecargo': 'rustup' },
    folder: toolchain,
  },
  {
    manager: 'rustup, by hard links and with one toolchain',
    program: 'corerustc',
    onPath: '.cargo/bin/corerustc',
    files: { ...cargo, [`${toolchain}/bin/corerustc`]: 'rustc' },
    links: { '.cargo/bin/corerustc': '=rustup' },
    folder: toolchain,
  },
  {
    manager: 'rustup without the component',
    program: 'miri',
    onPath: '.cargo/bin/miri',
    files: { ...cargo, [`${toolchain}/bin/corerustc`]: 'rustc' },
    links: { '.cargo/bin/miri': 'rustup' },
    folder: null,
  },
  {
    manager: 'rustup outside the home, with its folders side by side',
    program: 'corecargo',
    onPath: 'opt/cargo/bin/corecargo',
    files: {
      'opt/cargo/bin/rustup': 'rustup',
      'opt/cargo/credentials.toml': 'token = "swordfish"',
      'opt/rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/corecargo': 'cargo',
    },
    links: { 'opt/cargo/bin/corecargo': 'rustup' },
    folder: 'opt/rustup/toolchains/stable-x86_64-unknown-linux-gnu',
  },
  {
    manager: 'rustup with only its proxies outside the home',
    program: 'corecargo',
    onPath: 'opt/cargo/bin/corecargo',
    files: { 'opt/cargo/bin/rustup': 'rustup', [`${toolchain}/bin/corecargo`]: 'cargo' },
    links: { 'opt/cargo/bin/corecargo': 'rustup' },
    folder: toolchain,
  },
  {
    manager: 'rustup in folders that RUSTUP_HOME and CARGO_HOME name',
    program: 'corecargo',
    onPath: 'opt/crates/bin/corecargo',
    files: {
      'opt/crates/bin/rustup': 'rustup',
      'srv/rust/toolchains/stable-x86_64-unknown-linux-gnu/bin/corecargo': 'cargo',
    },
    links: { 'opt/crates/bin/corecargo': 'rustup' },
    variables: { RUSTUP_HOME: 'srv/rust' },
    folder: 'srv/rust/toolchains/stable-x86_64-unknown-linux-gnu',
  },
  {
    manager: 'cargo install',
    program: 'cargo-nextest',
    onPath: '.cargo/bin/cargo-nextest',
    files: { ...cargo, '.cargo/bin/cargo-nextest': 'nextest' },
    folder: '.cargo/bin',
  },
  {
    manager: 'nvm',
    program: 'corenode',
    onPath: '.nvm/versions/node/v22.1.0/bin/corenode',
    files: { '.nvm/versions/node/v22.1.0/bin/corenode': 'node', '.npmrc': '_authToken=swordfish' },
    folder: '.nvm/versions/node/v22.1.0',
  },
  {
    manager: 'fnm',
    program: 'corenode',
    onPath: '.local/state/fnm_multishells/1_2/bin/corenode',
    files: { '.local/share/fnm/node-versions/v22.1.0/installation/bin/corenode': 'node' },
    links: { '.local/state/fnm_multishells/1_2': '../../share/fnm/node-versions/v22.1.0/installation' },
    folder: '.local/share/fnm/node-versions/v22.1.0/installation',
  },
  {
    manager: 'volta',
    program: 'corenode',
    onPath: '.volta/bin/corenode',
    files: {
      '.volta/bin/volta-shim': 'shim',
      '.volta/tools/user/platform.json': '{"node":{"runtime":"20.11.1","npm":null}}',
      '.volta/tools/image/node/20.11.1/bin/corenode': 'node',
      '.volta/tools/image/node/22.1.0/bin/corenode': 'node',
    },
    links: { '.volta/bin/corenode': 'volta-shim' },
    folder: '.volta/tools/image/node/20.11.1',
  },
  {
    manager: 'volta in a folder of another name',
    program: 'corenode',
    onPath: 'opt/volta/bin/corenode',
    files: {
      'opt/volta/bin/volta-shim': 'shim',
      'opt/volta/tools/image/node/22.1.0/bin/corenode': 'node',
    },
    links: { 'opt/volta/bin/corenode': 'volta-shim' },
    folder: 'opt/volta/tools/image/node/22.1.0',
  },
  {
    manager: 'nvm in a folder of another name, with a fixture of a package that looks like a key',
    program: 'corenode',
    onPath: 'opt/nvm-of-all/versions/node/v22.1.0/bin/corenode',
    files: {
      'opt/nvm-of-all/versions/node/v22.1.0/bin/corenode': 'node',
      'opt/nvm-of-all/versions/node/v22.1.0/lib/node_modules/ssh2/package.json': '{}',
      'opt/nvm-of-all/versions/node/v22.1.0/lib/node_modules/ssh2/test/fixtures/id_rsa': 'key',
    },
    folder: 'opt/nvm-of-all/versions/node/v22.1.0',
  },
  {
    manager: 'nvm, with a token below its node_modules',
    program: 'corenode',
    onPath: '.nvm/versions/node/v22.1.0/bin/corenode',
    files: {
      '.nvm/versions/node/v22.1.0/bin/corenode': 'node',
      '.nvm/versions/node/v22.1.0/lib/node_modules/.npmrc': '_authToken=swordfish',
    },
    folder: null,
  },
  {
    manager: 'pyenv',
    program: 'corepytest',
    onPath: '.pyenv/shims/corepytest',
    files: {
      '.pyenv/shims/corepytest': '#!/bin/sh\nexec pyenv exec pytest',
      '.pyenv/version': '3.12.1\n',
      '.pyenv/versions/3.9.1/bin/corepytest': 'pytest',
      '.pyenv/versions/3.12.1/bin/corepytest': 'pytest',
    },
    folder: '.pyenv/versions/3.12.1',
  },
  {
    manager: 'asdf',
    program: 'corenpm',
    onPath: '.asdf/shims/corenpm',
    files: {
      '.asdf/shims/corenpm': '#!/bin/sh\n# asdf-plugin: nodejs 20.1.0\nexec asdf exec npm "$@"\n',
      '.asdf/installs/nodejs/20.1.0/bin/corenpm': 'npm',
    },
    folder: '.asdf/installs/nodejs/20.1.0',
  },
  {
    manager: 'mise',
    program: 'corego',
    onPath: '.local/share/mise/shims/corego',
    files: { '.local/bin/mise': 'mise', '.local/share/mise/installs/go/1.22.1/bin/corego': 'go' },
    links: {
      '.local/share/mise/shims/corego': '../../../bin/mise',
      '.local/share/mise/installs/go/latest': './1.22.1',
    },
    folder: '.local/share/mise/installs/go/1.22.1',
  },
  {
    manager: 'SDKMAN',
    program: 'corejava',
    onPath: '.sdkman/candidates/java/current/bin/corejava',
    files: { '.sdkman/candidates/java/21.0.1-tem/bin/corejava': 'java' },
    links: { '.sdkman/candidates/java/current': '21.0.1-tem' },
    folder: '.sdkman/candidates/java/21.0.1-tem',
  },
  {
    manager: 'go, a version of its own',
    program: 'corego',
    onPath: 'sdk/go1.22.1/bin/corego',
    files: { 'sdk/go1.22.1/bin/corego': 'go' },
    folder: 'sdk/go1.22.1',
  },
  {
    manager: 'go install',
    program: 'staticcheck',
    onPath: 'go/bin/staticcheck',
    files: { 'go/bin/staticcheck': 'staticcheck', 'go/pkg/mod/example.org/x.go': 'package x' },
    folder: 'go/bin',
  },
];

describe('A program of a version manager', () => {
  let home = '';
  const before = { ...environment };
  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), 'core-managers-')));
    Object.assign(environment, { HOME: home, RUSTUP_HOME: undefined });
  });
  afterEach(() => {
    Object.assign(environment, before);
    rmSync(home, { recursive: true, force: true });
  });

  for (const { manager, program, onPath, files, links = {}, variables = {}, folder } of homes) {
    it(`is found in a folder without credentials: ${manager}`, () => {
      for (const [path, text] of Object.entries(files)) write(path, text);
      for (const [path, target] of Object.entries(links)) link(path, target);
      if (variables.RUSTUP_HOME)
        Object.assign(environment, { RUSTUP_HOME: join(home, variables.RUSTUP_HOME) });
      const missing = (tool_paths: readonly string[]) =>
        missingPrograms([`${program} test`], { kind: 'bubblewrap', tool_paths }, [home], () =>
          join(home, onPath),
        );
      const proposed = folder === null ? [] : [join(home, folder)];
      expect(missing([])).to.deep.equal([{ name: program, path: join(home, onPath), folders: proposed }]);
      if (folder === null) return;
      expect(missing(proposed), 'once it is listed').to.deep.equal([]);
      const [bin = ''] = searchPath(proposed).split(delimiter);
      expect(realpathSync(join(bin, program))).to.match(new RegExp(`^${proposed[0]}/`));
    });
  }

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text, { mode: 0o755 });
  }

  function link(path: string, target: string): void {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    if (target.startsWith('=')) linkSync(join(home, dirname(path), target.slice(1)), join(home, path));
    else symlinkSync(target, join(home, path));
  }
});
