import { expect } from 'chai';
import type { WholeTree } from '../git/tree.ts';
import { lockedContent } from './fetching.ts';

/** As the detectors write them; `$PWD` is the workspace's. */
const pnpm = 'pnpm install --frozen-lockfile --ignore-scripts --store-dir "$TMPDIR/pnpm"';
const yarn = 'yarn install --frozen-lockfile --ignore-scripts --non-interactive';
const berry = 'YARN_NODE_LINKER=node-modules yarn install --immutable --mode=skip-build';
const npm = 'npm ci --ignore-scripts --no-audit --no-fund';
const cargo = 'CARGO_HOME="$PWD/.core-cache"/cargo cargo fetch --locked';
const nested = '(cd api && npm ci --ignore-scripts --no-audit --no-fund)';
const bun = 'BUN_INSTALL_CACHE_DIR="$TMPDIR/bun" bun install --frozen-lockfile --ignore-scripts';
const go = 'GOMODCACHE="$PWD/.core-cache"/go GOFLAGS=-modcacherw go mod download';
const pip = 'python3 -m pip install --no-input --target "$PWD/.core-cache"/python pytest -r requirements.txt';

describe('What a preparation depends on', () => {
  const content = (
    run: string,
    files: Readonly<Record<string, string>> = {},
    links: readonly string[] = [],
  ) => {
    const all: Readonly<Record<string, string>> = { lock: '1', ...files };
    const base: WholeTree = {
      list: async () => Object.keys(all),
      others: async () => links,
      read: async (path) => (all[path] === undefined ? null : Buffer.from(all[path])),
    };
    return lockedContent({ prepare: [{ name: 'install', run }], lockfiles: ['lock', 'package.json'] }, base);
  };

  for (const run of [npm, pnpm, yarn, berry, cargo, go, bun, nested]) {
    it(`is the content of lockfiles and settings for: ${run}`, async () => {
      const first = await content(run);
      expect(first).to.include.keys('lock');
      expect(await content(run, { 'src/a.js': 'x' })).to.deep.equal(first);
      expect(await content(run, { lock: '2' })).to.not.deep.equal(first);
      const named = await content(run, { 'package.json': '{"name":"a","dependencies":{"b":"1"}}' });
      const released = '{"name":"a","version":"2.0.0","scripts":{"test":"x"},"dependencies":{"b":"1"}}';
      expect(await content(run, { 'package.json': released })).to.deep.equal(named);
      expect(await content(run, { 'package.json': '{"dependencies":{"b":"2"}}' })).to.not.deep.equal(named);
    });
  }

  const settings: [string, string, string][] = [
    [npm, '.npmrc', 'registry=https://registry.example.org\n'],
    [berry, '.yarnrc.yml', 'npmRegistryServer: "https://registry.example.org"\n'],
    [cargo, 'rust-toolchain.toml', '[toolchain]\nchannel = "1.90"\n'],
  ];
  for (const [run, path, text] of settings) {
    it(`is ${path} too`, async () => {
      const first = await content(run);
      const changed = await content(run, { [path]: text });
      expect(changed).to.not.equal(null);
      expect(changed).to.not.deep.equal(first);
    });
  }

  const programs: [string, string, string][] = [
    [npm, '.npmrc', 'git = ./evil\n'],
    [nested, '.npmrc', 'git = ./evil\n'],
    [nested, 'api/.npmrc', 'git = ./evil\n'],
    [bun, 'bunfig.toml', 'preload = ["./evil.ts"]\n'],
    [npm, '.npmrc', 'script-shell=./evil\n'],
    [pnpm, '.pnpmfile.cjs', 'module.exports = {}'],
    [pnpm, '.npmrc', 'pnpmfile=hooks.cjs'],
    [yarn, '.yarnrc', 'yarn-path "./evil.js"'],
    [yarn, '.yarnrc.yml', 'yarnPath: ./evil.js'],
    [berry, '.yarnrc.yml', 'yarnPath: .yarn/releases/yarn.cjs'],
    [berry, '.yarnrc.yml', 'plugins:\n  - ./evil.js'],
    [cargo, '.cargo/config.toml', '[build]\nrustc-wrapper = "./evil"'],
    [cargo, 'rust-toolchain.toml', '[toolchain]\npath = "./evil"'],
  ];
  for (const [run, path, text] of programs) {
    it(`is any file where ${path} says ${JSON.stringify(text)}`, async () => {
      expect(await content(run, { [path]: text })).to.equal(null);
    });
  }

  for (const link of ['.npmrc', 'lock']) {
    it(`is any file where ${link} is a link`, async () => {
      expect(await content(npm, {}, [link])).to.equal(null);
      expect(await content(npm, {}, [`src/${link}`])).to.not.equal(null);
    });
  }

  it('is any file where the folder of its settings is a link', async () => {
    expect(await content(cargo, {}, ['.cargo'])).to.equal(null);
  });

  const others = [
    pip,
    'npm ci',
    'npm install --ignore-scripts',
    `${npm}; sh setup.sh`,
    `${npm} && true`,
    `${npm}\nsh setup.sh`,
    `${npm} --prefix ../x`,
    'npm_config_git=./evil npm ci --ignore-scripts',
    'CARGO_HOME=$(id) cargo fetch --locked',
    'pnpm install --ignore-scripts',
    'cargo fetch',
  ];
  for (const run of others) {
    it(`is any file for: ${JSON.stringify(run)}`, async () => {
      expect(await content(run)).to.equal(null);
    });
  }
});
