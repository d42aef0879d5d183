import { posix } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, optional } from '#kit/decode.ts';
import type { Ecosystem, Files } from './ecosystem.ts';

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
