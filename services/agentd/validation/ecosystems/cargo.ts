import { posix } from 'node:path';
import * as t from 'io-ts';
import { optional } from '#kit/decode.ts';
import {
  cache,
  cacheOf,
  type Files,
  fitsGlobs,
  foldersWith,
  inFolder,
  isBelow,
  nearest,
  type Project,
  present,
  type WithoutTests,
} from './project.ts';
import { readToml } from './toml.ts';

const Dependencies = t.record(t.string, t.unknown);
const Target = t.type({
  name: optional(t.string),
  path: optional(t.string),
  test: optional(t.boolean),
  'required-features': optional(t.array(t.string)),
});
const CargoToml = t.type({
  package: optional(t.type({ autotests: optional(t.boolean) })),
  lib: optional(Target),
  bin: optional(t.array(Target)),
  test: optional(t.array(Target)),
  workspace: optional(
    t.type({
      members: optional(t.array(t.string)),
      exclude: optional(t.array(t.string)),
      dependencies: optional(Dependencies),
    }),
  ),
  dependencies: optional(Dependencies),
  'dev-dependencies': optional(Dependencies),
  'build-dependencies': optional(Dependencies),
  target: optional(t.record(t.string, t.unknown)),
});
type CargoToml = t.TypeOf<typeof CargoToml>;

const settings = ['.cargo/config.toml', '.cargo/config', 'rust-toolchain.toml', 'rust-toolchain'];

/** A workspace is one project: its members are tested together. */
export async function detectCargo(files: Files): Promise<Project[]> {
  const manifests = new Map<string, CargoToml | null>();
  for (const folder of foldersWith(files, 'Cargo.toml'))
    manifests.set(folder, await readToml(CargoToml, files, posix.join(folder, 'Cargo.toml')));
  const roots = [...manifests].filter(([, manifest]) => manifest?.workspace !== undefined).map(([at]) => at);
  const members = new Map(roots.map((root) => [root, membersOf(root, manifests)]));
  const projects: string[] = [];
  const without_tests: WithoutTests[] = [];
  for (const [folder, manifest] of manifests) {
    const root = nearest(folder, roots);
    if (manifest?.workspace !== undefined || root === undefined) projects.push(folder);
    else if (members.get(root)!.has(folder)) continue;
    else if (isExcluded(folder, root, manifests)) projects.push(folder);
    else
      without_tests.push({
        folder,
        files: ['rust'],
        why: `${posix.join(folder, 'Cargo.toml')} is not a member of the workspace`,
      });
  }
  const apart = [...projects, ...without_tests.map(({ folder }) => folder)];
  return projects.map((folder) => {
    const except = apart.filter((other) => isBelow(other, folder) && nearest(other, projects) === folder);
    const left = without_tests.filter((other) => nearest(other.folder, projects) === folder);
    return project(files, folder, manifests, except, left);
  });
}

function project(
  files: Files,
  folder: string,
  manifests: ReadonlyMap<string, CargoToml | null>,
  except: readonly string[],
  without_tests: readonly WithoutTests[],
): Project {
  const own = [...manifests].filter(
    ([at]) =>
      at === folder || (isBelow(at, folder) && !except.some((part) => at === part || isBelow(at, part))),
  );
  const off = own.flatMap(([at, manifest]) =>
    manifest === null ? [] : targetsWithoutTests(files, at, manifest),
  );
  const fetches = own.some(([, manifest]) => manifest !== null && hasDependencies(manifest));
  const home = `CARGO_HOME=${cache}/cargo `;
  const locked = files.has(posix.join(folder, 'Cargo.lock'));
  const workspace = manifests.get(folder)?.workspace === undefined ? '' : ' --workspace';
  const test = `${fetches ? home : ''}cargo test${workspace} --offline --no-fail-fast`;
  return {
    name: 'cargo',
    folder,
    found: [posix.join(folder, 'Cargo.toml')],
    prepare: fetches
      ? [{ name: 'fetch', run: inFolder(folder, `${home}cargo fetch${locked ? ' --locked' : ''}`) }]
      : [],
    prepared_paths: fetches ? [cacheOf(folder)] : [],
    lockfiles: fetches
      ? [
          ...present(files, folder, ['Cargo.lock', ...settings]),
          ...own.map(([at]) => posix.join(at, 'Cargo.toml')),
        ]
      : [],
    tests: [
      {
        run: inFolder(folder, test),
        covers: [
          { folder, except: [...except, ...off.map((one) => one.folder)], files: ['rust', 'resource'] },
        ],
      },
    ],
    without_tests: [...without_tests, ...off],
  };
}

/** Parts of a crate whose tests `cargo test` does not run because its manifest says so. */
function targetsWithoutTests(files: Files, folder: string, manifest: CargoToml): WithoutTests[] {
  const { lib, bin = [], test = [] } = manifest;
  const toml = posix.join(folder, 'Cargo.toml');
  const at = (path: string) => posix.join(folder, path);
  const left = (path: string, setting: string, may_test?: 'all'): WithoutTests => ({
    folder: path,
    files: ['rust'],
    why: `${setting} in ${toml}`,
    ...(may_test && { may_test }),
  });
  const tests = files.all.filter((path) =>
    /^[^/]+(\.rs|\/main\.rs)$/.test(posix.relative(at('tests'), path)),
  );
  const fileOf = ({ name = '', path }: t.TypeOf<typeof Target>, home: string): string =>
    path === undefined
      ? ([`${home}/${name}.rs`, `${home}/${name}/main.rs`].map(at).find(files.has) ?? at('src/main.rs'))
      : at(path);
  const named = test.map((one) => ({ one, path: fileOf(one, 'tests') }));
  const found: WithoutTests[] = [];
  for (const { one, path } of named) {
    if (one.test === false) found.push(left(path, '[[test]] test = false'));
    else if (one['required-features'] !== undefined) found.push(left(path, 'required-features', 'all'));
  }
  if (manifest.package?.autotests === false) {
    const silent = tests.filter((path) => !named.some((one) => one.path === path));
    found.push(...silent.map((path) => left(path, 'autotests = false')));
  }
  for (const one of bin) {
    if (one.test === false) found.push(left(fileOf(one, 'src/bin'), '[[bin]] test = false', 'all'));
  }
  if (lib?.test === false) {
    const runs = tests.some((path) => !found.some((one) => one.folder === path));
    const code = posix.dirname(at(lib.path ?? 'src/lib.rs'));
    found.push(left(code, '[lib] test = false', runs || files.has(at('src/main.rs')) ? 'all' : undefined));
  }
  return found;
}

/** What `members` names and `exclude` does not, and below the workspace all that these depend on by a path. */
function membersOf(root: string, manifests: ReadonlyMap<string, CargoToml | null>): Set<string> {
  const { workspace } = manifests.get(root)!;
  const shared = workspace?.dependencies ?? {};
  const found = new Set(
    [...manifests.keys()].filter(
      (folder) =>
        isBelow(folder, root) &&
        fitsGlobs(folder, root, workspace?.members ?? []) &&
        (isNamed(folder, root, workspace?.members ?? []) || !isExcluded(folder, root, manifests)),
    ),
  );
  for (const folder of [root, ...found]) addDependencies(folder);
  return found;

  function addDependencies(folder: string): void {
    const manifest = manifests.get(folder);
    if (!manifest) return;
    const paths = [...pathsIn(manifest, folder), ...(folder === root ? pathsOf(shared, root) : [])];
    for (const path of paths) {
      if (!manifests.has(path) || !isBelow(path, root) || found.has(path)) continue;
      if (isExcluded(path, root, manifests)) continue;
      found.add(path);
      addDependencies(path);
    }
  }
}

function isExcluded(folder: string, root: string, manifests: ReadonlyMap<string, CargoToml | null>): boolean {
  return isNamed(folder, root, manifests.get(root)?.workspace?.exclude ?? []);
}

/** True if a folder is one of these, or below one. Globs name none: `exclude` takes what they fit out of `members`. */
function isNamed(folder: string, root: string, paths: readonly string[]): boolean {
  return paths.some((path) => {
    const named = posix.join(root, path).replace(/\/$/, '');
    return folder === named || isBelow(folder, named);
  });
}

function hasDependencies(manifest: CargoToml): boolean {
  return dependencyTables(manifest).some((table) => Object.keys(table).length > 0);
}

function pathsIn(manifest: CargoToml, folder: string): string[] {
  return dependencyTables(manifest).flatMap((table) => pathsOf(table, folder));
}

function pathsOf(table: Readonly<Record<string, unknown>>, folder: string): string[] {
  return Object.values(table).flatMap((value) => {
    const path = (value as { path?: unknown } | null)?.path;
    return typeof path === 'string' ? [posix.join(folder, path).replace(/^\.$|\/$/, '')] : [];
  });
}

/** The manifest's own, and those for some platforms. */
function dependencyTables(manifest: CargoToml): Readonly<Record<string, unknown>>[] {
  const all = [manifest, ...Object.values(manifest.target ?? {})] as CargoToml[];
  return all.flatMap((one) => [
    one.dependencies ?? {},
    one['dev-dependencies'] ?? {},
    one['build-dependencies'] ?? {},
  ]);
}
