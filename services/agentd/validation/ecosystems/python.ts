import { posix } from 'node:path';
import * as t from 'io-ts';
import { optional } from '#kit/decode.ts';
import { shellWord } from '#kit/shell-word.ts';
import {
  type Files,
  fitsGlobs,
  foldersWith,
  inFolder,
  isBelow,
  nearest,
  type Project,
  present,
} from './project.ts';
import {
  pytestFiles,
  pytestSettings,
  skippedFolders,
  testPathsOf,
  unclearOption,
  untestedFolders,
} from './pytest.ts';
import { readToml } from './toml.ts';

const Groups = t.record(t.string, t.unknown);
const PyProject = t.type({
  project: optional(
    t.type({ dependencies: optional(t.array(t.string)), 'optional-dependencies': optional(Groups) }),
  ),
  'dependency-groups': optional(Groups),
  tool: optional(
    t.type({
      poetry: optional(t.type({ group: optional(Groups), extras: optional(Groups) })),
      uv: optional(
        t.type({
          workspace: optional(
            t.type({ members: optional(t.array(t.string)), exclude: optional(t.array(t.string)) }),
          ),
        }),
      ),
    }),
  ),
});
type PyProject = t.TypeOf<typeof PyProject>;

const pythonFiles = ['python', 'resource'] as const;
const manifestNames = [
  'pyproject.toml',
  'setup.py',
  'setup.cfg',
  'pytest.ini',
  'tox.ini',
  'requirements.txt',
];
/** Groups and extras that tests need. */
const testGroups = ['test', 'tests', 'testing', 'dev'];

/** How the dependencies of one project come into its virtual environment. */
interface Environment {
  readonly prepare: string | null;
  readonly lockfiles: readonly string[];
}

/**
 * Dependencies are installed into `.venv`, as uv, Poetry or pip do it. The project itself is never installed: the copy from the
 * base would be tested in place of the change. Without any dependencies, what the machine has must do.
 */
export async function detectPython(files: Files): Promise<Project[]> {
  const manifests = new Map<string, PyProject | null>();
  for (const folder of new Set(['', ...foldersWith(files, ...manifestNames)])) {
    const path = posix.join(folder, 'pyproject.toml');
    manifests.set(folder, files.has(path) ? await readToml(PyProject, files, path) : null);
  }
  const tested = new Map<string, readonly string[]>();
  for (const folder of manifests.keys()) {
    const found = await pytestFiles(files, folder);
    if (found !== null) tested.set(folder, found);
  }
  const workspaces = [...manifests]
    .filter(([, manifest]) => manifest?.tool?.uv?.workspace !== undefined)
    .map(([root]) => ({ root, members: membersOf(root, manifests) }));
  const distributions = [...manifests.keys()].filter(
    (folder) => present(files, folder, ['pyproject.toml', 'setup.py']).length > 0,
  );
  return Promise.all(
    [...tested].map(async ([folder, found]) => {
      const workspace = workspaces.find(({ root, members }) => root === folder || members.includes(folder));
      const home = workspace?.root ?? folder;
      const { prepare, lockfiles } = await environmentOf(
        files,
        home,
        manifests.get(home) ?? null,
        workspace?.members,
      );
      const below = [...tested.keys()].filter(
        (other) => isBelow(other, folder) && nearest(other, [...tested.keys()]) === folder,
      );
      const apart = distributions.filter(
        (other) => isBelow(other, folder) && !workspace?.members.includes(other),
      );
      const test_paths = await testPathsOf(files, folder, found[0]!);
      const elsewhere = test_paths === undefined ? [] : untestedFolders(files, folder, test_paths);
      const settings = await pytestSettings(files, found[0]!);
      const skipped = skippedFolders(files, folder, settings.norecursedirs);
      const unclear = unclearOption(settings.addopts);
      const sources = sourcesOf(files, folder, [folder, ...(workspace?.members ?? []), home]);
      const python =
        prepare === null ? 'python3' : posix.join(posix.relative(folder, home), '.venv/bin/python');
      const ignored = below.map((other) => ` --ignore=${shellWord(posix.relative(folder, other))}`).join('');
      const test = `PYTHONPATH="${sources.join(':')}" ${python} -m pytest -p no:cacheprovider${ignored}`;
      return {
        name: 'pytest',
        folder,
        found,
        // The environment of a workspace is made once, by whichever of its projects comes first.
        prepare: prepare === null ? [] : [{ name: 'install', run: inFolder(home, prepare) }],
        prepared_paths: prepare === null ? [] : [posix.join(home, '.venv')],
        lockfiles,
        tests: [
          {
            run: inFolder(folder, test),
            covers: [
              {
                folder,
                except: [...new Set([...below, ...apart, ...elsewhere, ...skipped])],
                files: unclear === null ? [...pythonFiles] : [],
                ...(test_paths && { test_paths }),
              },
            ],
          },
        ],
        without_tests: [
          ...elsewhere.map((one) => ({
            folder: one,
            files: ['python'] as const,
            why: `its tests are outside the testpaths of ${found[0]}`,
          })),
          ...skipped.map((one) => ({
            folder: one,
            files: ['python'] as const,
            why: 'pytest does not look into this folder (norecursedirs)',
          })),
          ...(unclear === null ? [] : [unclear]).map((option) => ({
            folder,
            files: pythonFiles,
            why: `'${option}' in addopts of ${found[0]} is not understood`,
            may_test: 'all' as const,
          })),
        ],
      } satisfies Project;
    }),
  );
}

function membersOf(root: string, manifests: ReadonlyMap<string, PyProject | null>): string[] {
  const { members = [], exclude = [] } = manifests.get(root)?.tool?.uv?.workspace ?? {};
  return [...manifests.keys()].filter(
    (folder) =>
      isBelow(folder, root) && fitsGlobs(folder, root, members) && !fitsGlobs(folder, root, exclude),
  );
}

/** Entries of PYTHONPATH for these folders, seen from the folder of the tests. */
function sourcesOf(files: Files, from: string, folders: readonly string[]): string[] {
  return [...new Set(folders)].flatMap((folder) => {
    const source = posix.join(folder, 'src');
    const there = files.all.some((path) => isBelow(path, source));
    return [...(there ? [source] : []), folder].map((path) =>
      ['$PWD', posix.relative(from, path)].filter((part) => part !== '').join('/'),
    );
  });
}

async function environmentOf(
  files: Files,
  folder: string,
  manifest: PyProject | null,
  members: readonly string[] = [],
): Promise<Environment> {
  const pyproject = present(files, folder, ['pyproject.toml']);
  if (files.has(posix.join(folder, 'uv.lock'))) {
    const groups = options('--group', manifest?.['dependency-groups'], ['dev']);
    const extras = options('--extra', manifest?.project?.['optional-dependencies']);
    const all = members.length > 0 ? ' --all-packages' : '';
    const variables = 'UV_CACHE_DIR="$TMPDIR/uv" UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never';
    return {
      prepare: `${variables} uv sync --frozen --no-install-workspace${all}${groups}${extras}`,
      lockfiles: [posix.join(folder, 'uv.lock'), ...pyproject],
    };
  }
  if (files.has(posix.join(folder, 'poetry.lock')) || manifest?.tool?.poetry !== undefined) {
    const poetry = manifest?.tool?.poetry;
    const optionalGroups = Object.entries(poetry?.group ?? {}).filter(([, group]) => isOptional(group));
    const groups = options('--with', Object.fromEntries(optionalGroups));
    const extras = options('--extras', poetry?.extras ?? manifest?.project?.['optional-dependencies']);
    const variables = 'POETRY_VIRTUALENVS_IN_PROJECT=true POETRY_CACHE_DIR="$TMPDIR/poetry"';
    return {
      prepare: `${variables} poetry install --no-root --no-interaction${groups}${extras}`,
      lockfiles: [...present(files, folder, ['poetry.lock']), ...pyproject],
    };
  }
  const requirements = requirementsOf(files, folder);
  const listed = manifest?.project === undefined && manifest?.['dependency-groups'] === undefined;
  if (requirements.length === 0 && listed) return { prepare: null, lockfiles: [] };
  const named = listed ? [] : requirementsIn(manifest);
  const words = [...requirements.flatMap((path) => ['-r', posix.relative(folder, path)]), ...named];
  const pip = '.venv/bin/python -m pip install --no-input --no-cache-dir pytest';
  return {
    prepare: `python3 -m venv .venv && ${[pip, ...words.map(shellWord)].join(' ')}`,
    lockfiles: [...requirements, ...(listed ? [] : pyproject)],
  };
}

function options(
  name: string,
  groups: Readonly<Record<string, unknown>> | undefined,
  already: readonly string[] = [],
): string {
  return testGroups
    .filter((group) => groups !== undefined && group in groups && !already.includes(group))
    .map((group) => ` ${name} ${group}`)
    .join('');
}

function isOptional(group: unknown): boolean {
  return (group as { optional?: unknown } | null)?.optional === true;
}

/** What a pyproject.toml says that the project and its tests need, each once. */
function requirementsIn(manifest: PyProject | null): string[] {
  const extras = manifest?.project?.['optional-dependencies'] ?? {};
  const groups = manifest?.['dependency-groups'] ?? {};
  const found = new Set(manifest?.project?.dependencies ?? []);
  for (const name of testGroups) {
    addAll(extras[name]);
    addAll(groups[name]);
  }
  return [...found];

  function addAll(list: unknown, within: readonly unknown[] = []): void {
    if (!Array.isArray(list) || within.includes(list)) return;
    for (const one of list) {
      const included = (one as { 'include-group'?: unknown } | null)?.['include-group'];
      if (typeof one === 'string') found.add(one);
      else if (typeof included === 'string') addAll(groups[included], [...within, list]);
    }
  }
}

function requirementsOf(files: Files, folder: string): string[] {
  return files.all.filter((path) => {
    if (!isBelow(path, folder)) return false;
    const name = posix.relative(folder, path);
    return /^(requirements[\w.-]*|[\w.-]*-requirements|requirements\/[\w.-]+)\.txt$/.test(name);
  });
}
