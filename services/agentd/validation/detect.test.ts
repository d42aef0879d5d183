import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { ValidationPlan } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';
import { ValidationConfig } from './configuration.ts';
import { planValidation } from './detect.ts';

const shipped: unknown = JSON.parse(
  readFileSync(new URL('../../../config/validation.json', import.meta.url), 'utf8'),
);
const config = decode(ValidationConfig, shipped, 'config/validation.json');

function treeOf(files: Record<string, string>): TreeReader {
  return {
    list: async () => Object.keys(files).sort(),
    read: async (path) => (path in files ? Buffer.from(files[path]!) : null),
  };
}

function plan(files: Record<string, string>, changes: object = {}): Promise<ValidationPlan | null> {
  return planValidation(treeOf(files), { ...config, ...changes }, { owner: 'demo', repo: 'hello' });
}

function lines(
  found: ValidationPlan | null,
): { found: string; prepare: string[]; commands: string[] } | null {
  if (found === null) return null;
  return {
    found: found.found,
    prepare: found.prepare.map(({ run }) => run),
    commands: found.commands.map(({ name, run }) => `${name}: ${run}`),
  };
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

const tested = { scripts: { test: 'node --test' } };

describe('Finding out how a repository is validated', () => {
  it('finds nothing in a repository without tests', async () => {
    expect(await plan({ 'README.md': '# Hello' })).to.equal(null);
    const placeholder = { scripts: { test: 'echo "Error: no test specified" && exit 1' } };
    expect(await plan({ 'package.json': json(placeholder) })).to.equal(null);
  });

  it('runs the test script of a package without dependencies, preparing nothing', async () => {
    const found = await plan({ 'package.json': `\uFEFF${json(tested)}` });
    expect(lines(found)).to.deep.equal({ found: 'package.json', prepare: [], commands: ['test: npm test'] });
    expect(found).to.deep.include({
      source: 'detected',
      prepare_network: false,
      prepared_paths: [],
      lockfiles: [],
    });
    expect(found?.limits).to.deep.equal(config.limits);
  });

  it('installs dependencies by the lockfile that is there, without install scripts', async () => {
    const manifest = json({ ...tested, devDependencies: { chai: '6.0.0' } });
    const cases: [string, string, string, string][] = [
      ['package-lock.json', '{}', 'npm ci --ignore-scripts --no-audit --no-fund', 'npm test'],
      [
        'yarn.lock',
        '# yarn lockfile v1\n',
        'yarn install --frozen-lockfile --ignore-scripts --non-interactive',
        'yarn test',
      ],
      [
        'yarn.lock',
        '__metadata:\n  version: 8\n',
        'YARN_NODE_LINKER=node-modules yarn install --immutable --mode=skip-build',
        'YARN_NODE_LINKER=node-modules yarn test',
      ],
      [
        'pnpm-lock.yaml',
        '',
        'pnpm install --frozen-lockfile --ignore-scripts --store-dir "$TMPDIR/pnpm"',
        'pnpm test',
      ],
    ];
    for (const [lockfile, content, install, test] of cases) {
      const found = await plan({ 'package.json': manifest, [lockfile]: content });
      expect(lines(found)).to.deep.include({ prepare: [install], commands: [`test: ${test}`] });
      expect(found).to.deep.include({
        prepare_network: true,
        prepared_paths: ['node_modules'],
        lockfiles: [lockfile, 'package.json'],
      });
    }
  });

  it('installs nothing where node_modules is part of the repository', async () => {
    const manifest = json({ ...tested, dependencies: { a: '1.0.0' } });
    const found = await plan({ 'package.json': manifest, 'node_modules/a/index.js': '' });
    expect(found).to.deep.include({ prepare: [], prepared_paths: [] });
  });

  it('prepares the dependencies of every package of a workspace', async () => {
    const found = await plan({
      'package.json': json({ ...tested, workspaces: ['packages/*'] }),
      'package-lock.json': '{}',
      'packages/a/package.json': '{}',
      'packages/b/package.json': '{}',
    });
    expect(found?.prepared_paths).to.deep.equal([
      'node_modules',
      'packages/a/node_modules',
      'packages/b/node_modules',
    ]);
  });

  it('finds Cargo, Go, Maven and pytest, with caches below the workspace', async () => {
    expect(
      lines(await plan({ 'Cargo.toml': '[package]\n[dependencies]\nserde = "1"\n', 'Cargo.lock': '' })),
    ).to.deep.equal({
      found: 'Cargo.toml',
      prepare: ['CARGO_HOME="$PWD/.core-cache"/cargo cargo fetch --locked'],
      commands: ['test: CARGO_HOME="$PWD/.core-cache"/cargo cargo test --offline --no-fail-fast'],
    });
    expect(lines(await plan({ 'go.mod': 'module x\nrequire a v1\n', 'go.sum': '' }))).to.deep.equal({
      found: 'go.mod',
      prepare: ['GOMODCACHE="$PWD/.core-cache"/go GOFLAGS=-modcacherw go mod download'],
      commands: ['test: GOMODCACHE="$PWD/.core-cache"/go GOPROXY=off go test ./...'],
    });
    expect(lines(await plan({ 'pom.xml': '<project/>' }))?.commands[0]).to.contain('mvn -B -o ');
    expect(
      lines(await plan({ 'pytest.ini': '', 'src/a.py': '', 'requirements.txt': 'pytest' })),
    ).to.deep.equal({
      found: 'pytest.ini',
      prepare: [
        'python3 -m venv .venv && .venv/bin/python -m pip install --no-input --no-cache-dir pytest -r requirements.txt',
      ],
      commands: ['test: PYTHONPATH="$PWD/src:$PWD" .venv/bin/python -m pytest -p no:cacheprovider'],
    });
  });

  it('prepares nothing for projects without dependencies', async () => {
    for (const files of [{ 'Cargo.toml': '[package]\n' }, { 'go.mod': 'module x\n' }, { 'pytest.ini': '' }]) {
      expect(await plan(files)).to.deep.include({ prepare: [], prepared_paths: [], lockfiles: [] });
    }
  });

  it('takes unittest files for no pytest', async () => {
    expect(await plan({ 'tests/test_a.py': 'import unittest\n' })).to.equal(null);
    expect(lines(await plan({ 'tests/test_a.py': 'import pytest\n' }))?.found).to.equal('tests/test_a.py');
  });

  it('tests all kinds of project at the root, each command with its own name', async () => {
    const found = await plan({
      'package.json': json(tested),
      'go.mod': 'module x\n',
      Makefile: 'test:\n\tfalse\n',
    });
    expect(lines(found)).to.deep.equal({
      found: 'package.json, go.mod',
      prepare: [],
      commands: ['test-npm: npm test', 'test-go: GOPROXY=off go test ./...'],
    });
  });

  it('asks a Makefile where nothing else has tests, with the dependencies it may need', async () => {
    const makefile = '.PHONY: test\nTEST := yes\nall check lint: build\n\techo\n';
    expect(lines(await plan({ Makefile: makefile }))).to.deep.equal({
      found: 'Makefile',
      prepare: [],
      commands: ['test: make check'],
    });
    const manifest = json({ dependencies: { a: '1.0.0' } });
    const both = await plan({ Makefile: 'test:\n\tnode test.js\n', 'package.json': manifest });
    expect(lines(both)).to.deep.equal({
      found: 'Makefile, package.json',
      prepare: ['npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund'],
      commands: ['test: make test'],
    });
    expect(await plan({ Makefile: 'build:\n\ttrue\ntest := no\n' })).to.equal(null);
  });

  it('lets the configuration decide before the repository, by name in any case or by default', async () => {
    const settings = { commands: [{ name: 'all', run: './check' }], limits: { seconds: 9000 } };
    const named = await plan({ 'package.json': json(tested) }, { repositories: { 'Demo/HELLO': settings } });
    expect(named).to.deep.include({ source: 'configuration', found: 'config/validation.json' });
    expect(named?.limits).to.deep.equal({ ...config.limits, seconds: 9000 });
    const other = await plan({ 'package.json': json(tested) }, { default: settings });
    expect(lines(other)?.commands).to.deep.equal(['all: ./check']);
  });

  it('takes .core.json of the repository before detecting, within the limits of the configuration', async () => {
    const validation = {
      prepare: [{ name: 'get', run: './get' }],
      commands: [{ name: 'all', run: './check' }],
      prepare_network: true,
      limits: { seconds: 21600, processes: 8 },
    };
    const files = { '.core.json': json({ validation, other: true }), 'package.json': json(tested) };
    const found = await plan(files, { prepare_network: false });
    expect(lines(found)).to.deep.equal({
      found: '.core.json',
      prepare: ['./get'],
      commands: ['all: ./check'],
    });
    expect(found).to.deep.include({ source: 'repository', prepare_network: false });
    expect(found?.limits).to.deep.equal({ ...config.limits, processes: 8 });
    expect(lines(await plan({ ...files, '.core.json': '{}' }))?.commands).to.deep.equal(['test: npm test']);
  });

  it('names file, place, value and rule of what is broken', async () => {
    const broken: [Record<string, string>, string][] = [
      [{ 'package.json': '{' }, 'package.json is not JSON'],
      [{ 'package.json': '{"scripts":{"test":1}}' }, 'package.json: /scripts/test is 1: must be a string'],
      [{ '.core.json': '{"validation":{}}' }, '.core.json: /validation/commands is missing'],
      [
        { '.core.json': '{"validation":{"commands":[]}}' },
        '.core.json: /validation/commands is []: must be a list of at least one command, each with its own name',
      ],
      [
        { '.core.json': '{"validation":{"commands":[{"name":"a","run":"b"}],"prepared_paths":["../x"]}}' },
        '.core.json: /validation/prepared_paths/0 is "../x": must be a path below the repository',
      ],
      [
        { '.core.json': '{"validation":{"commands":[{"name":"a","run":"b"},{"name":"a","run":"c"}]}}' },
        'must be a list of at least one command, each with its own name',
      ],
    ];
    for (const [files, message] of broken) {
      const error = await plan(files).catch((thrown: unknown) => thrown);
      expect(error, message).to.be.instanceOf(InvalidInput);
      expect((error as Error).message).to.contain(message);
    }
  });
});
