import { cacheFolder, type Ecosystem, type Files } from './ecosystem.ts';

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
