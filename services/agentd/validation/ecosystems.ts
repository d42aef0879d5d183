import { posix } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, optional } from '#kit/decode.ts';
import type { ValidationCommand } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';

/** What one kind of project at the root of a repository needs. */
export interface Ecosystem {
  /** For the names of its commands where several kinds are found: `npm`, `cargo`. */
  readonly name: string;
  /** Files that decided, for example `package.json`. */
  readonly found: readonly string[];
  readonly prepare: readonly ValidationCommand[];
  readonly prepared_paths: readonly string[];
  readonly lockfiles: readonly string[];
  /** null when it has no tests of its own: its dependencies may still be needed by a Makefile. */
  readonly test: string | null;
}

/** The files of a tree, listed once. */
export interface Files {
  readonly all: readonly string[];
  has(path: string): boolean;
  /** Text without a byte order mark; empty where there is no such file. */
  text(path: string): Promise<string>;
}

export async function filesOf(tree: TreeReader): Promise<Files> {
  const all = await tree.list();
  const known = new Set(all);
  return {
    all,
    has: (path) => known.has(path),
    async text(path) {
      const bytes = known.has(path) ? await tree.read(path) : null;
      return bytes === null
        ? ''
        : Buffer.from(bytes)
            .toString('utf8')
            .replace(/^\uFEFF/, '');
    },
  };
}

/** Where preparing keeps what package managers download; below the workspace, so that it can be mounted read-only. */
const cacheFolder = '.core-cache';
const cache = `"$PWD/${cacheFolder}"`;

export async function detectCargo(files: Files): Promise<Ecosystem | null> {
  if (!files.has('Cargo.toml')) return null;
  const manifests = files.all.filter((path) => path === 'Cargo.toml' || path.endsWith('/Cargo.toml'));
  const texts = await Promise.all(manifests.map((path) => files.text(path)));
  const fetches = texts.some((text) => /^\s*\[[^\]\n]*dependencies[^\]\n]*\]/m.test(text));
  const home = `CARGO_HOME=${cache}/cargo`;
  const locked = files.has('Cargo.lock');
  return {
    name: 'cargo',
    found: ['Cargo.toml'],
    prepare: fetches ? [{ name: 'fetch', run: `${home} cargo fetch${locked ? ' --locked' : ''}` }] : [],
    prepared_paths: fetches ? [cacheFolder] : [],
    lockfiles: fetches ? [...['Cargo.lock', ...cargoSettings].filter(files.has), ...manifests] : [],
    test: fetches ? `${home} cargo test --offline` : 'cargo test --offline',
  };
}

const cargoSettings = ['.cargo/config.toml', '.cargo/config', 'rust-toolchain.toml', 'rust-toolchain'];

export async function detectGo(files: Files): Promise<Ecosystem | null> {
  if (!files.has('go.mod')) return null;
  const downloads = /^\s*require\b/m.test(await files.text('go.mod')) && !files.has('vendor/modules.txt');
  const modules = `GOMODCACHE=${cache}/go`;
  return {
    name: 'go',
    found: ['go.mod'],
    prepare: downloads ? [{ name: 'download', run: `${modules} GOFLAGS=-modcacherw go mod download` }] : [],
    prepared_paths: downloads ? [cacheFolder] : [],
    lockfiles: downloads ? goModuleFiles(files) : [],
    test: downloads ? `${modules} GOPROXY=off go test ./...` : 'GOPROXY=off go test ./...',
  };
}

/** A workspace draws the modules of its other folders in. */
function goModuleFiles(files: Files): string[] {
  const own = ['go.sum', 'go.mod', 'go.work', 'go.work.sum'].filter(files.has);
  if (!files.has('go.work')) return own;
  return [...own, ...files.all.filter((path) => /\/go\.(mod|sum)$/.test(path))];
}

/**
 * Maven resolves the plugins of a goal only by running it, so that preparing runs the base's own tests, and what they say does
 * not count. The run works on links into the prepared repository, because Maven writes notes beside what it reads.
 */
export async function detectMaven(files: Files): Promise<Ecosystem | null> {
  if (!files.has('pom.xml')) return null;
  const links = `cp -rs ${cache}/m2 "$TMPDIR/m2"`;
  return {
    name: 'maven',
    found: ['pom.xml'],
    prepare: [
      { name: 'resolve', run: `mvn -B -Dmaven.repo.local=${cache}/m2 -Dmaven.test.failure.ignore=true test` },
    ],
    prepared_paths: [cacheFolder],
    lockfiles: files.all.filter((path) => path === 'pom.xml' || path.endsWith('/pom.xml')),
    test: `${links} && mvn -B -o -Dmaven.repo.local="$TMPDIR/m2" test`,
  };
}

/**
 * Requirements files are installed, with pytest; without any, what the machine has must do. The project itself is never
 * installed: the copy from the base would be tested in place of the change.
 */
export async function detectPytest(files: Files): Promise<Ecosystem | null> {
  const found = await pytestFiles(files);
  if (found === null) return null;
  const requirements = files.all.filter((path) =>
    /^(requirements[\w.-]*|[\w.-]*-requirements|requirements\/[\w.-]+)\.txt$/.test(path),
  );
  const installs = requirements.length > 0;
  const listed = requirements.map((path) => ` -r ${path}`).join('');
  const paths = [...(files.all.some((path) => path.startsWith('src/')) ? ['$PWD/src'] : []), '$PWD'];
  if (installs) paths.push(`$PWD/${cacheFolder}/python`);
  return {
    name: 'pytest',
    found,
    prepare: installs
      ? [
          {
            name: 'install',
            run: `python3 -m pip install --no-input --target ${cache}/python pytest${listed}`,
          },
        ]
      : [],
    prepared_paths: installs ? [cacheFolder] : [],
    lockfiles: requirements,
    test: `PYTHONPATH="${paths.join(':')}" python3 -m pytest -p no:cacheprovider`,
  };
}

const pytestMarks: readonly (readonly [string, RegExp])[] = [
  ['pytest.ini', /(?:)/],
  ['pyproject.toml', /^\s*\[tool\.pytest\b/m],
  ['setup.cfg', /^\s*\[tool:pytest\]/m],
  ['tox.ini', /^\s*\[pytest\]/m],
];

async function pytestFiles(files: Files): Promise<string[] | null> {
  for (const [path, mark] of pytestMarks) {
    if (files.has(path) && mark.test(await files.text(path))) return [path];
  }
  const tests = files.all.filter((path) =>
    /^tests?\/(.*\/)?(test_[^/]*|[^/]*_test|conftest)\.py$/.test(path),
  );
  if (tests.length === 0) return null;
  for (const path of [
    'pyproject.toml',
    'setup.py',
    'setup.cfg',
    'requirements.txt',
    'requirements-dev.txt',
    'tox.ini',
  ]) {
    if (/\bpytest\b/.test(await files.text(path))) return [path];
  }
  for (const path of ['conftest.py', 'tests/conftest.py', 'test/conftest.py'])
    if (files.has(path)) return [path];
  for (const path of tests.slice(0, 50)) {
    if (/^\s*(import|from) pytest\b/m.test(await files.text(path))) return [path];
  }
  return null;
}

const makefiles = ['GNUmakefile', 'makefile', 'Makefile'];

/** The target of a Makefile that tests, `test` before `check`; null where there is none. */
export async function detectMakefile(files: Files): Promise<{ found: string; run: string } | null> {
  const found = makefiles.find(files.has);
  if (found === undefined) return null;
  const targets = new Set<string>();
  for (const line of (await files.text(found)).split('\n')) {
    const names = /^([^\s:=#][^:=#]*):(?!=)/.exec(line)?.[1] ?? '';
    for (const name of names.trim().split(/\s+/)) targets.add(name);
  }
  const target = ['test', 'check'].find((name) => targets.has(name));
  return target === undefined ? null : { found, run: `make ${target}` };
}

const PackageJson = t.type({
  scripts: optional(t.record(t.string, t.string)),
  dependencies: optional(t.UnknownRecord),
  devDependencies: optional(t.UnknownRecord),
  optionalDependencies: optional(t.UnknownRecord),
  workspaces: optional(t.unknown),
});
type PackageJson = t.TypeOf<typeof PackageJson>;

interface Manager {
  readonly name: string;
  readonly lockfile: string | null;
  readonly install: string;
  readonly test: string;
}

/** npm unless a lockfile says otherwise. @throws InvalidInput (`validation_invalid`, `invalid_json`) for a broken package.json */
export async function detectJavaScript(files: Files): Promise<Ecosystem | null> {
  if (!files.has('package.json')) return null;
  const manifest = decodeJson(
    PackageJson,
    await files.text('package.json'),
    'package.json',
    'validation_invalid',
  );
  const manager = await managerOf(files);
  const installs = needsInstall(manifest) && !files.all.some((path) => path.startsWith('node_modules/'));
  return {
    name: manager.name,
    found: ['package.json'],
    prepare: installs ? [{ name: 'install', run: manager.install }] : [],
    prepared_paths: installs ? moduleFolders(files, manifest) : [],
    lockfiles: installs ? lockfilesOf(files, manager) : [],
    test: hasTests(manifest) ? manager.test : null,
  };
}

/** Install scripts stay off: what a dependency runs when it is installed is not what anybody approved. */
async function managerOf(files: Files): Promise<Manager> {
  if (files.has('pnpm-lock.yaml')) {
    const install = 'pnpm install --frozen-lockfile --ignore-scripts --store-dir "$TMPDIR/pnpm"';
    return { name: 'pnpm', lockfile: 'pnpm-lock.yaml', install, test: 'pnpm test' };
  }
  if (files.has('yarn.lock')) {
    if (/^# yarn lockfile v1$/m.test(await files.text('yarn.lock'))) {
      const install = 'yarn install --frozen-lockfile --ignore-scripts --non-interactive';
      return { name: 'yarn', lockfile: 'yarn.lock', install, test: 'yarn test' };
    }
    const linker = 'YARN_NODE_LINKER=node-modules';
    const install = `${linker} yarn install --immutable --mode=skip-build`;
    return { name: 'yarn', lockfile: 'yarn.lock', install, test: `${linker} yarn test` };
  }
  const lockfile = ['npm-shrinkwrap.json', 'package-lock.json'].find(files.has) ?? null;
  const verb = lockfile === null ? 'install --no-save --no-package-lock' : 'ci';
  return {
    name: 'npm',
    lockfile,
    install: `npm ${verb} --ignore-scripts --no-audit --no-fund`,
    test: 'npm test',
  };
}

function needsInstall(manifest: PackageJson): boolean {
  const { dependencies, devDependencies, optionalDependencies, workspaces } = manifest;
  const listed = [dependencies, devDependencies, optionalDependencies].some(
    (all) => Object.keys(all ?? {}).length > 0,
  );
  return listed || workspaces !== undefined;
}

/** The root's, and in a workspace those of every package: managers put there what does not fit at the root. */
function moduleFolders(files: Files, manifest: PackageJson): string[] {
  const workspace = manifest.workspaces !== undefined || files.has('pnpm-workspace.yaml');
  const packages = workspace ? files.all.filter((path) => path.endsWith('/package.json')) : [];
  return ['', ...packages.map((path) => posix.dirname(path))].map((folder) =>
    posix.join(folder, 'node_modules'),
  );
}

function lockfilesOf(files: Files, manager: Manager): string[] {
  const own = ['package.json', '.npmrc', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml'].filter(files.has);
  return manager.lockfile === null ? own : [manager.lockfile, ...own];
}

function hasTests({ scripts = {} }: PackageJson): boolean {
  const test = scripts.test?.trim() ?? '';
  return test !== '' && !test.includes('no test specified');
}
