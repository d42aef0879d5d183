import { posix } from 'node:path';
import * as t from 'io-ts';
import { parse as parseYaml } from 'yaml';
import { decodeJson, optional } from '#kit/decode.ts';
import { type Narrowed, narrowedBy } from '../line-scope.ts';
import { runnerOf } from '../test-runners.ts';
import {
  type CoveredFolder,
  type Files,
  fitsGlobs,
  foldersWith,
  inFolder,
  isBelow,
  nearest,
  type Project,
  type ProjectTest,
  present,
  type WithoutTests,
} from './project.ts';
import { testsAllPackages, usedFor } from './test-script.ts';

const PackageJson = t.type({
  scripts: optional(t.record(t.string, t.string)),
  dependencies: optional(t.UnknownRecord),
  devDependencies: optional(t.UnknownRecord),
  optionalDependencies: optional(t.UnknownRecord),
  workspaces: optional(t.unknown),
  packageManager: optional(t.unknown),
});
type PackageJson = t.TypeOf<typeof PackageJson>;

interface Package {
  readonly folder: string;
  readonly manifest: PackageJson;
  /** Folders of its workspace. */
  readonly members: readonly string[];
}

/**
 * A workspace is one project: its packages are installed together, and each that has tests is tested.
 * @throws InvalidInput (`validation_invalid`, `invalid_json`) for a broken package.json at the root
 */
export async function detectJavaScript(files: Files): Promise<Project[]> {
  const manifests = new Map<string, PackageJson>();
  for (const folder of foldersWith(files, 'package.json')) {
    const manifest = await readPackage(files, folder);
    if (manifest !== null) manifests.set(folder, manifest);
  }
  const roots: Package[] = [];
  for (const [folder, manifest] of manifests) {
    if (roots.some(({ members }) => members.includes(folder))) continue;
    if (folder !== '' && !isProject(manifest)) continue;
    roots.push({
      folder,
      manifest,
      members: await membersOf(files, folder, manifest, [...manifests.keys()]),
    });
  }
  const folders = roots.map(({ folder }) => folder);
  return Promise.all(
    roots.map((root) => {
      const except = folders.filter(
        (other) => isBelow(other, root.folder) && nearest(other, folders) === root.folder,
      );
      return project(files, root, manifests, except);
    }),
  );
}

async function project(
  files: Files,
  { folder, manifest, members }: Package,
  manifests: ReadonlyMap<string, PackageJson>,
  except: readonly string[],
): Promise<Project> {
  const manager = await managerOf(files, folder, manifest);
  const own = `${folder === '' ? '' : `${folder}/`}node_modules/`;
  const installs =
    (members.length > 0 || needsInstall(manifest)) && !files.all.some((path) => path.startsWith(own));
  const tested = members.filter((member) => hasTests(manifests.get(member)!));
  const silent = members.filter((member) => !tested.includes(member));
  const script = hasTests(manifest) ? manifest.scripts!.test! : null;
  const testsMembers = script !== null && testsAllPackages(script);
  /** Runners find the tests of packages without a script too. */
  const testsSilent = script !== null && !testsMembers && runnerOf(script) !== null;
  const idle = [folder, ...tested].filter((one) => idleText(manifests.get(one)!) !== null);
  const narrowed = new Map<string, Narrowed | null>();
  for (const one of script === null || testsMembers ? tested : [folder, ...tested])
    narrowed.set(one, await narrowedBy(files, manifests.get(one)!.scripts!.test!, one));
  const covers = (at: string, without: readonly string[]): CoveredFolder[] => {
    const within = (one: string) => without.filter((other) => isBelow(other, one));
    const only = narrowed.get(at) ?? null;
    if (only === null || idle.includes(at))
      return [{ folder: at, except: within(at), files: idle.includes(at) ? [] : [...codeFiles] }];
    return only.covers.map((one) => ({ ...one, except: [...one.except, ...within(one.folder)] }));
  };
  const tests: ProjectTest[] = [];
  if (script !== null) {
    const left = testsMembers ? [...silent, ...idle] : testsSilent ? tested : members;
    tests.push({ run: inFolder(folder, manager.test), covers: covers(folder, [...except, ...left]) });
  }
  if (!testsMembers && tested.length > 0) {
    const scopes = tested.map((member) => ({ member, covers: covers(member, [...except, ...members]) }));
    // Some managers also run the script that npm writes where there are no tests, which fails.
    const placeholder = silent.some((member) => manifests.get(member)!.scripts?.test !== undefined);
    if (manager.testMembers !== null && !placeholder)
      tests.push({ run: inFolder(folder, manager.testMembers), covers: scopes.flatMap((one) => one.covers) });
    else
      for (const one of scopes) tests.push({ run: inFolder(one.member, manager.test), covers: one.covers });
  }
  return {
    name: manager.name,
    folder,
    found: [posix.join(folder, 'package.json')],
    prepare: installs ? [{ name: 'install', run: inFolder(folder, manager.install) }] : [],
    prepared_paths: installs ? [folder, ...members].map((one) => posix.join(one, 'node_modules')) : [],
    lockfiles: installs ? lockfilesOf(files, folder, manager, members) : [],
    tests,
    without_tests: [
      ...[...narrowed].flatMap(([one, only]) => (idle.includes(one) ? [] : (only?.without_tests ?? []))),
      ...[...(script === null ? [folder] : []), ...(testsSilent ? [] : silent), ...idle].map(
        (one): WithoutTests => ({
          folder: one,
          files: ['javascript'],
          why: idle.includes(one)
            ? `no tests: the test script of ${posix.join(one, 'package.json')} ${idleText(manifests.get(one)!)}`
            : `${posix.join(one, 'package.json')} has no test script`,
        }),
      ),
    ],
  };
}

const codeFiles = ['javascript', 'resource'] as const;

async function readPackage(files: Files, folder: string): Promise<PackageJson | null> {
  const path = posix.join(folder, 'package.json');
  try {
    return decodeJson(PackageJson, await files.text(path), path, 'validation_invalid');
  } catch (error) {
    // One below the root may be an input of tests.
    if (folder === '') throw error;
    return null;
  }
}

/** A package.json that only says what kind of modules its folder holds is not a project. */
function isProject(manifest: PackageJson): boolean {
  return manifest.scripts !== undefined || needsInstall(manifest) || manifest.workspaces !== undefined;
}

async function membersOf(
  files: Files,
  root: string,
  { workspaces }: PackageJson,
  folders: readonly string[],
): Promise<string[]> {
  const listed = (workspaces as { packages?: unknown } | undefined)?.packages ?? workspaces ?? [];
  const globs = [listed, await pnpmPackages(files, root)]
    .flat()
    .filter((glob): glob is string => typeof glob === 'string');
  return folders.filter((folder) => isBelow(folder, root) && fitsGlobs(folder, root, globs));
}

async function pnpmPackages(files: Files, root: string): Promise<unknown> {
  try {
    const text = await files.text(posix.join(root, 'pnpm-workspace.yaml'));
    return (parseYaml(text) as { packages?: unknown } | null)?.packages ?? [];
  } catch {
    // pnpm says what is wrong with it.
    return [];
  }
}

interface Manager {
  readonly name: string;
  readonly lockfile: string | null;
  readonly install: string;
  readonly test: string;
  /** Runs the tests of all packages that have some; null where the manager cannot leave out those without. */
  readonly testMembers: string | null;
}

/**
 * By the lockfile, else by `packageManager`, else npm. Install scripts stay off: what a dependency runs when it is installed is not
 * what anybody approved.
 */
async function managerOf(files: Files, folder: string, { packageManager }: PackageJson): Promise<Manager> {
  const named = typeof packageManager === 'string' ? packageManager : '';
  const found = managers.find((manager) => present(files, folder, lockfiles[manager]).length > 0);
  const name = found ?? managers.find((manager) => named.startsWith(`${manager}@`)) ?? 'npm';
  const lockfile = found === undefined ? null : present(files, folder, lockfiles[found])[0]!;
  switch (name) {
    case 'pnpm': {
      const frozen = lockfile === null ? '' : ' --frozen-lockfile';
      const install = `pnpm install${frozen} --ignore-scripts --store-dir "$TMPDIR/pnpm"`;
      return {
        name,
        lockfile,
        install,
        test: 'pnpm test',
        testMembers: 'pnpm --recursive --if-present run test',
      };
    }
    case 'bun': {
      const frozen = lockfile === null ? '' : ' --frozen-lockfile';
      const install = `BUN_INSTALL_CACHE_DIR="$TMPDIR/bun" bun install${frozen} --ignore-scripts`;
      return { name, lockfile, install, test: 'bun run test', testMembers: null };
    }
    case 'yarn': {
      const classic =
        lockfile === null
          ? /^yarn@1\./.test(named)
          : /^# yarn lockfile v1$/m.test(await files.text(lockfile));
      if (classic) {
        const frozen = lockfile === null ? '' : ' --frozen-lockfile';
        const install = `yarn install${frozen} --ignore-scripts --non-interactive`;
        return { name, lockfile, install, test: 'yarn test', testMembers: null };
      }
      const linker = 'YARN_NODE_LINKER=node-modules';
      const frozen = lockfile === null ? '' : ' --immutable';
      const install = `${linker} yarn install${frozen} --mode=skip-build`;
      return { name, lockfile, install, test: `${linker} yarn test`, testMembers: null };
    }
    case 'npm': {
      const verb = lockfile === null ? 'install --no-save --no-package-lock' : 'ci';
      const install = `npm ${verb} --ignore-scripts --no-audit --no-fund`;
      return { name, lockfile, install, test: 'npm test', testMembers: 'npm test --workspaces --if-present' };
    }
  }
}

/** In the order in which their lockfiles decide. */
const managers = ['pnpm', 'yarn', 'bun', 'npm'] as const;
const lockfiles: Readonly<Record<(typeof managers)[number], readonly string[]>> = {
  pnpm: ['pnpm-lock.yaml'],
  yarn: ['yarn.lock'],
  bun: ['bun.lock', 'bun.lockb'],
  npm: ['npm-shrinkwrap.json', 'package-lock.json'],
};

function needsInstall(manifest: PackageJson): boolean {
  const { dependencies, devDependencies, optionalDependencies, workspaces } = manifest;
  const listed = [dependencies, devDependencies, optionalDependencies].some(
    (all) => Object.keys(all ?? {}).length > 0,
  );
  return listed || workspaces !== undefined;
}

function lockfilesOf(files: Files, folder: string, manager: Manager, members: readonly string[]): string[] {
  const settings = ['package.json', '.npmrc', '.yarnrc', '.yarnrc.yml', 'pnpm-workspace.yaml', 'bunfig.toml'];
  const own = present(files, folder, settings);
  if (manager.lockfile !== null) return [manager.lockfile, ...own];
  return [...own, ...members.map((member) => posix.join(member, 'package.json'))];
}

function hasTests({ scripts = {} }: PackageJson): boolean {
  const test = scripts.test?.trim() ?? '';
  return test !== '' && !test.includes('no test specified');
}

/** For example `only lints`; null for a package whose test script may test, or is missing. */
function idleText(manifest: PackageJson): string | null {
  return hasTests(manifest) ? usedFor(manifest.scripts!) : null;
}
