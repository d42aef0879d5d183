import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { decode } from '#kit/decode.ts';
import type { ValidationPlan } from '../action.ts';
import type { TreeReader } from '../git/tree.ts';
import { ValidationConfig } from './configuration.ts';
import { untestedFiles, untestedTexts } from './coverage.ts';
import { planValidation } from './detect.ts';
import { kindOf } from './file-kinds.ts';

const config = decode(
  ValidationConfig,
  JSON.parse(readFileSync(new URL('../../../config/validation.json', import.meta.url), 'utf8')),
  'config/validation.json',
);

function treeOf(files: Readonly<Record<string, string>>): TreeReader {
  return {
    list: async () => Object.keys(files).sort(),
    read: async (path) => (path in files ? Buffer.from(files[path]!) : null),
  };
}

async function planOf(files: Readonly<Record<string, string>>): Promise<ValidationPlan> {
  return (await planValidation(treeOf(files), config, { owner: 'demo', repo: 'hello' }))!;
}

const node = JSON.stringify({ scripts: { test: 'node --test' } });
const dependent = JSON.stringify({ dependencies: { a: '1' } });
const workspace = (globs: readonly string[], test?: string) =>
  JSON.stringify({ workspaces: globs, ...(test && { scripts: { test } }) });
const goModule = 'module example.org/x\n';
const crate = '[package]\nname = "a"\n';
const pytest = 'import pytest\n';

interface Case {
  readonly files: Readonly<Record<string, string>>;
  /** Commands that run. */
  readonly runs: readonly string[];
  readonly changed: readonly string[];
  readonly untested: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  'Python in a Node project without Python tests': {
    files: { 'package.json': node, 'api/app.py': '' },
    runs: ['npm test'],
    changed: ['api/app.py', 'src/a.ts', 'README.md', 'docs/logo.png', 'data/a.json'],
    untested: ['not tested: api/app.py (no Python tests configured)'],
  },
  'Python in a Node project with Python tests': {
    files: {
      'package.json': node,
      'api/requirements.txt': 'pytest\n',
      'api/app.py': '',
      'api/tests/test_app.py': pytest,
    },
    runs: ['npm test', '(cd api && PYTHONPATH="$PWD" .venv/bin/python -m pytest -p no:cacheprovider)'],
    changed: ['api/app.py', 'tools/run.py', 'a.js'],
    untested: ['not tested: tools/run.py (no Python tests configured)'],
  },
  'Node in a Python project': {
    files: { 'pytest.ini': '', 'web/package.json': node, 'site/package.json': dependent },
    runs: ['(cd web && npm test)', 'PYTHONPATH="$PWD" python3 -m pytest -p no:cacheprovider'],
    changed: ['app.py', 'web/a.tsx', 'site/b.js', 'c.js'],
    untested: [
      'not tested: site/b.js (site/package.json has no test script)',
      'not tested: c.js (no JavaScript tests configured)',
    ],
  },
  'a Cargo workspace': {
    files: {
      'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\nexclude = ["fuzz"]\n',
      'crates/a/Cargo.toml': `${crate}[dependencies]\nb = { path = "../../lib/b" }\n`,
      'lib/b/Cargo.toml': crate,
      'fuzz/Cargo.toml': crate,
      'tools/x/Cargo.toml': crate,
    },
    runs: [
      'CARGO_HOME="$PWD/.core-cache"/cargo cargo test --workspace --offline --no-fail-fast',
      '(cd fuzz && cargo test --offline --no-fail-fast)',
    ],
    changed: ['crates/a/src/lib.rs', 'lib/b/src/lib.rs', 'fuzz/src/main.rs', 'tools/x/src/main.rs'],
    untested: ['not tested: tools/x/src/main.rs (tools/x/Cargo.toml is not a member of the workspace)'],
  },
  'a crate beside another': {
    files: { 'Cargo.toml': crate, 'helper/Cargo.toml': crate },
    runs: ['cargo test --offline --no-fail-fast', '(cd helper && cargo test --offline --no-fail-fast)'],
    changed: ['src/lib.rs', 'helper/src/lib.rs', 'scripts/run.sh'],
    untested: ['not tested: scripts/run.sh (no shell tests configured)'],
  },
  'nested Go modules': {
    files: {
      'go.mod': goModule,
      'tools/go.mod': goModule,
      'internal/a.go': '',
      'pkg/testdata/go.mod': goModule,
    },
    runs: ['GOPROXY=off go test ./...', '(cd tools && GOPROXY=off go test ./...)'],
    changed: ['internal/a.go', 'tools/b.go'],
    untested: [],
  },
  'a Go workspace': {
    files: {
      'go.work': 'go 1.22\n\nuse (\n\t./a // first\n\t./b\n)\n',
      'a/go.mod': goModule,
      'b/go.mod': goModule,
      'c/go.mod': goModule,
      'd.go': '',
    },
    runs: ['GOPROXY=off go test ./a/... ./b/...', '(cd c && GOWORK=off GOPROXY=off go test ./...)'],
    changed: ['a/x.go', 'b/x.go', 'c/x.go', 'd.go'],
    untested: ['not tested: d.go (no Go tests configured)'],
  },
  'npm workspaces whose root tests itself': {
    files: {
      'package.json': workspace(['packages/*'], 'node --test'),
      'packages/a/package.json': node,
      'packages/b/package.json': '{}',
    },
    runs: ['npm test', 'npm test --workspaces --if-present'],
    changed: ['packages/a/x.js', 'packages/b/x.js', 'x.js'],
    untested: [],
  },
  'npm workspaces whose root tests all packages': {
    files: {
      'package.json': workspace(['packages/*'], 'npm test --workspaces --if-present'),
      'packages/a/package.json': node,
      'packages/b/package.json': '{}',
    },
    runs: ['npm test'],
    changed: ['packages/a/x.js', 'packages/b/x.js'],
    untested: ['not tested: packages/b/x.js (packages/b/package.json has no test script)'],
  },
  'npm workspaces of which one has the script that npm writes': {
    files: {
      'package.json': workspace(['packages/*']),
      'packages/a/package.json': node,
      'packages/b/package.json': '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}',
    },
    runs: ['(cd packages/a && npm test)'],
    changed: ['packages/a/x.js', 'packages/b/x.js', 'build.js'],
    untested: [
      'not tested: packages/b/x.js (packages/b/package.json has no test script)',
      'not tested: build.js (package.json has no test script)',
    ],
  },
  'pnpm workspaces': {
    files: {
      'package.json': '{"private":true}',
      'pnpm-lock.yaml': '',
      'pnpm-workspace.yaml': 'packages:\n  - "packages/*"\n  - "!packages/old"\n',
      'packages/a/package.json': node,
      'packages/old/package.json': node,
    },
    runs: ['pnpm --recursive --if-present run test', '(cd packages/old && npm test)'],
    changed: ['packages/a/x.js', 'packages/old/x.js'],
    untested: [],
  },
  'yarn workspaces': {
    files: {
      'package.json': workspace(['packages/*']),
      'yarn.lock': '# yarn lockfile v1\n',
      'packages/a/package.json': node,
      'packages/b/package.json': node,
    },
    runs: ['(cd packages/a && yarn test)', '(cd packages/b && yarn test)'],
    changed: ['packages/b/x.js'],
    untested: [],
  },
  'bun workspaces': {
    files: { 'package.json': workspace(['a']), 'bun.lock': '{}', 'a/package.json': node },
    runs: ['(cd a && bun run test)'],
    changed: ['a/x.ts'],
    untested: [],
  },
  'Maven modules, and a project beside them': {
    files: {
      'pom.xml':
        '<project><modules><module>core</module></modules><profiles><profile><modules><module>extra</module></modules></profile></profiles></project>',
      'core/pom.xml': '<project/>',
      'extra/pom.xml': '<project/>',
    },
    runs: [
      'cp -rs "$PWD/.core-cache"/m2 "$TMPDIR/m2" && mvn -B -o -Dmaven.repo.local="$TMPDIR/m2" test',
      '(cd extra && cp -rs "$PWD/.core-cache"/m2 "$TMPDIR/m2" && mvn -B -o -Dmaven.repo.local="$TMPDIR/m2" test)',
    ],
    changed: ['core/src/A.java', 'extra/src/B.java'],
    untested: [],
  },
  'Gradle subprojects': {
    files: {
      'settings.gradle.kts': 'rootProject.name = "x"\ninclude(":app", ":lib:core")\n',
      gradlew: '',
      'app/build.gradle.kts': '',
      'lib/core/build.gradle': '',
      'old/build.gradle': '',
    },
    runs: [
      'cp -r "$PWD/.core-cache"/gradle "$TMPDIR/gradle" && GRADLE_USER_HOME="$TMPDIR/gradle" ./gradlew --no-daemon --offline --continue test',
    ],
    changed: ['app/src/A.kt', 'lib/core/B.java', 'old/C.java'],
    untested: ['not tested: old/C.java (old is not included in settings.gradle.kts)'],
  },
  'a uv workspace': {
    files: {
      'pyproject.toml':
        '[project]\nname = "x"\ndependencies = []\n[dependency-groups]\ntest = ["pytest"]\n[tool.uv.workspace]\nmembers = ["packages/*"]\n',
      'uv.lock': '',
      'packages/a/pyproject.toml': '[project]\nname = "a"\n[tool.pytest.ini_options]\n',
      'packages/a/src/a/__init__.py': '',
    },
    runs: [
      '(cd packages/a && PYTHONPATH="$PWD/src:$PWD:$PWD/../.." ../../.venv/bin/python -m pytest -p no:cacheprovider)',
    ],
    changed: ['packages/a/src/a/x.py', 'other.py'],
    untested: ['not tested: other.py (no Python tests configured)'],
  },
  'a Poetry project': {
    files: { 'pyproject.toml': '[tool.poetry]\nname = "x"\n[tool.pytest.ini_options]\n', 'poetry.lock': '' },
    runs: ['PYTHONPATH="$PWD" .venv/bin/python -m pytest -p no:cacheprovider'],
    changed: ['x.py'],
    untested: [],
  },
  'a Cargo workspace that excludes what a glob of its members fits': {
    files: {
      'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/x"]\n',
      'crates/a/Cargo.toml': crate,
      'crates/x/Cargo.toml': crate,
    },
    runs: [
      'cargo test --workspace --offline --no-fail-fast',
      '(cd crates/x && cargo test --offline --no-fail-fast)',
    ],
    changed: ['crates/a/src/lib.rs', 'crates/x/src/lib.rs'],
    untested: [],
  },
  'Go folders that go test leaves out': {
    files: { 'go.mod': goModule },
    runs: ['GOPROXY=off go test ./...'],
    changed: [
      'a.go',
      '_tools/x.go',
      'b/testdata/x.go',
      'vendor/y/x.go',
      'b/_x.go',
      '.ci/x.go',
      'my_vendor/x.go',
    ],
    untested: [
      "not tested: _tools/x.go, b/testdata/x.go, vendor/y/x.go, b/_x.go, .ci/x.go ('go test' leaves out names that begin with _ or ., testdata and vendor)",
    ],
  },
  'Cargo targets whose tests are off': {
    files: {
      'Cargo.toml': `${crate}autotests = false\n[lib]\ntest = false\n[[test]]\nname = "on"\n[[test]]\nname = "off"\ntest = false\n`,
      'src/lib.rs': '',
      'tests/on.rs': '',
      'tests/off.rs': '',
      'tests/auto.rs': '',
      'b/Cargo.toml': '[package]\nname = "b"\n[lib]\ntest = false\n',
      'b/src/lib.rs': '',
    },
    runs: ['cargo test --offline --no-fail-fast', '(cd b && cargo test --offline --no-fail-fast)'],
    changed: ['src/lib.rs', 'tests/on.rs', 'tests/off.rs', 'tests/auto.rs', 'b/src/x.rs'],
    untested: [
      'may not be tested: src/lib.rs ([lib] test = false in Cargo.toml)',
      'not tested: tests/off.rs ([[test]] test = false in Cargo.toml)',
      'not tested: tests/auto.rs (autotests = false in Cargo.toml)',
      'not tested: b/src/x.rs ([lib] test = false in b/Cargo.toml)',
    ],
  },
  'pytest that leaves out folders by their names': {
    files: {
      'pyproject.toml':
        '[tool.pytest.ini_options]\nnorecursedirs = ["slow", "gen*"]\naddopts = "-ra --strict-markers --cov=app"\n[tool.x]\naddopts = "-k x"\n',
      'tests/test_a.py': '',
      'tests/slow/test_b.py': '',
      'generated/test_c.py': '',
      'build/test_d.py': '',
    },
    runs: ['PYTHONPATH="$PWD" python3 -m pytest -p no:cacheprovider'],
    changed: ['app.py', 'tests/test_a.py', 'tests/slow/test_b.py', 'generated/test_c.py', 'build/test_d.py'],
    untested: [
      'not tested: tests/slow/test_b.py, generated/test_c.py (pytest does not look into this folder (norecursedirs))',
    ],
  },
  'pytest with its usual norecursedirs': {
    files: {
      'pytest.ini': '[pytest]\naddopts = -q\n  -n auto\n',
      'tests/test_a.py': '',
      'build/test_d.py': '',
    },
    runs: ['PYTHONPATH="$PWD" python3 -m pytest -p no:cacheprovider'],
    changed: ['app.py', 'tests/test_a.py', 'build/test_d.py'],
    untested: ['not tested: build/test_d.py (pytest does not look into this folder (norecursedirs))'],
  },
  'pytest whose configuration chooses tests': {
    files: {
      'pyproject.toml': '[tool.pytest.ini_options]\naddopts = ["-q", "-m", "not slow"]\n',
      'tests/test_a.py': '',
    },
    runs: ['PYTHONPATH="$PWD" python3 -m pytest -p no:cacheprovider'],
    changed: ['app.py'],
    untested: ["may not be tested: app.py ('-m' in addopts of pyproject.toml is not understood)"],
  },
  'pytest with testpaths': {
    files: {
      'pyproject.toml': '[tool.pytest.ini_options]\ntestpaths = ["tests", "missing"]\n',
      'tests/test_a.py': '',
      'app.py': '',
      'worker/app.py': '',
      'svc/app.py': '',
      'svc/tests/test_y.py': '',
    },
    runs: ['PYTHONPATH="$PWD" python3 -m pytest -p no:cacheprovider'],
    changed: ['app.py', 'tests/test_a.py', 'worker/test_w.py', 'worker/app.py', 'svc/app.py'],
    untested: [
      'not tested: worker/test_w.py (pytest runs only the tests in its testpaths)',
      'not tested: svc/app.py (its tests are outside the testpaths of pyproject.toml)',
    ],
  },
  'Maven that skips the tests of a module': {
    files: {
      'pom.xml': '<project><modules><module>core</module></modules></project>',
      'core/pom.xml': '<project><properties><maven.test.skip> true </maven.test.skip></properties></project>',
    },
    runs: ['cp -rs "$PWD/.core-cache"/m2 "$TMPDIR/m2" && mvn -B -o -Dmaven.repo.local="$TMPDIR/m2" test'],
    changed: ['src/A.java', 'core/src/A.java'],
    untested: ['not tested: core/src/A.java (core/pom.xml skips its tests (maven.test.skip))'],
  },
  'Maven that skips all tests': {
    files: { 'pom.xml': '<project><properties><skipTests>true</skipTests></properties></project>' },
    runs: ['cp -rs "$PWD/.core-cache"/m2 "$TMPDIR/m2" && mvn -B -o -Dmaven.repo.local="$TMPDIR/m2" test'],
    changed: ['src/A.java'],
    untested: ['not tested: src/A.java (pom.xml skips its tests (skipTests))'],
  },
  'a workspace whose member only lints': {
    files: {
      'package.json': workspace(['packages/*'], 'npm test --workspaces'),
      'packages/a/package.json': node,
      'packages/b/package.json': '{"scripts":{"test":"eslint ."}}',
    },
    runs: ['npm test'],
    changed: ['packages/a/x.js', 'packages/b/x.js'],
    untested: [
      'not tested: packages/b/x.js (no tests: the test script of packages/b/package.json only lints)',
    ],
  },
  'a Makefile, which does not say what it tests': {
    files: { Makefile: 'test:\n\t./run\n' },
    runs: ['make test'],
    changed: ['a.c', 'README.md'],
    untested: ["may not be tested: a.c ('make test' does not say which files it tests)"],
  },
  'commands of the repository without coverage, which count for all of it': {
    files: { '.core.json': '{"validation":{"commands":[{"name":"a","run":"./check"}]}}' },
    runs: ['./check'],
    changed: ['a.c'],
    untested: [],
  },
  'commands of the repository with coverage': {
    files: {
      '.core.json':
        '{"validation":{"commands":[{"name":"a","run":"./check","covers":[{"folder":"api","except":["api/old"],"files":["python"]}]}]}}',
    },
    runs: ['./check'],
    changed: ['api/a.py', 'api/old/b.py', 'web/c.ts'],
    untested: [
      'not tested: api/old/b.py (no Python tests configured)',
      'not tested: web/c.ts (no JavaScript tests configured)',
    ],
  },
};

describe('Which changed files a validation tests', () => {
  for (const [title, { files, runs, changed, untested }] of Object.entries(cases)) {
    it(`is known for ${title}`, async () => {
      const plan = await planOf(files);
      expect(plan.commands.map(({ run }) => run)).to.deep.equal(runs);
      expect(new Set(plan.commands.map(({ name }) => name)).size).to.equal(runs.length);
      expect(
        untestedTexts(
          untestedFiles(
            plan,
            changed.map((path) => ({ path })),
          ),
        ),
      ).to.deep.equal(untested);
    });
  }

  const members = { 'packages/a/package.json': node, 'packages/b/package.json': '{}' };
  const delegating = async (script: string) => {
    const files = { 'package.json': workspace(['packages/*'], script), ...members };
    return (await planOf(files)).commands.length === 1;
  };

  for (const script of [
    'npm test --workspaces --if-present',
    'npm run -ws test',
    'npm run build && npm t --workspaces',
    'pnpm -r test',
    'pnpm --recursive --if-present run test',
    'pnpm --filter "*" test',
    'yarn workspaces run test',
    'yarn workspaces foreach -Apt run test',
    'bun run --filter="*" test',
    'npx turbo run build test --concurrency=4',
    'nx run-many -t lint test --parallel=3',
    'nx run-many --target=test --all',
    'lerna run test --stream',
  ])
    it(`takes '${script}' for the tests of all packages`, async () => {
      expect(await delegating(script)).to.equal(true);
    });

  for (const script of [
    'npm test --workspaces=false',
    'npm test --workspaces -w packages/a',
    'npm install --workspaces && jest',
    'npm run lint --workspaces && node --test',
    'pnpm -r --filter ./packages/a test',
    'pnpm --filter a -r test',
    'pnpm -r lint',
    'yarn workspaces foreach --include a run test',
    'yarn workspaces foreach -A --since run test',
    'nx run-many -t test -p a',
    'nx run-many --target=test --exclude=b',
    'nx run-many --target=lint --all',
    'turbo run lint',
    'turbo run test --affected',
    'turbo run test --filter=a',
    'turbo run build && node --test test/',
    'lerna run test --ignore b',
    'lerna run lint',
    'pnpm -r test || true',
  ])
    it(`does not take '${script}' for the tests of all packages`, async () => {
      expect(await delegating(script)).to.equal(false);
    });

  const uses = {
    'exit 0': 'does nothing',
    true: 'does nothing',
    ':': 'does nothing',
    'echo ok': 'does nothing',
    'echo "Error: no tests yet" && exit 0': 'does nothing',
    'eslint .': 'only lints',
    'prettier --check . && npm run types': 'only lints and type-checks',
    'tsc --noEmit': 'only type-checks',
    'turbo run lint': 'only lints',
  };
  for (const [script, use] of Object.entries(uses))
    it(`does not count '${script}' as tests`, async () => {
      const scripts = { test: script, types: 'tsc -p .' };
      const plan = await planOf({ 'package.json': JSON.stringify({ scripts }) });
      expect(plan.commands.map(({ run }) => run)).to.deep.equal(['npm test']);
      expect(untestedTexts(untestedFiles(plan, [{ path: 'src/a.js' }]))).to.deep.equal([
        `not tested: src/a.js (no tests: the test script of package.json ${use})`,
      ]);
    });

  for (const script of ['eslint . && node --test', 'npm run unit', 'npm run unit -- x', './check', 'mocha'])
    it(`counts '${script}' as tests`, async () => {
      const plan = await planOf({
        'package.json': JSON.stringify({ scripts: { test: script, unit: 'ava' } }),
      });
      expect(untestedFiles(plan, [{ path: 'src/a.js' }])).to.deep.equal([]);
    });

  const tree = {
    'package.json': '{}',
    'src/a/x.js': '',
    'src/a/x.test.js': '',
    'src/b/y.test.js': '',
    'test/a.test.js': '',
    'test/unit/c.test.js': '',
    'tests/unit/test_a.py': '',
    'tests/slow/test_b.py': '',
    'pkg/a/a_test.go': '',
    'pkg/a/sub/s_test.go': '',
    'app/src/test/java/ATest.java': '',
    'lib/src/test/java/BTest.java': '',
  };
  const changed = [
    'src/a/x.js',
    'src/b/y.js',
    'src/b/y.test.js',
    'app.py',
    'pkg/a/a.go',
    'pkg/a/sub/s.go',
    'app/A.java',
    'lib/B.java',
  ];
  /** Files of `changed` that a command of `.core.json` leaves out, by its last argument. */
  const narrowing: Readonly<Record<string, string>> = {
    'jest src/a': 'src/b/y.js src/b/y.test.js',
    'npx jest --ci src/a src/b': '',
    'vitest run src/a': 'src/b/y.js src/b/y.test.js',
    'npx mocha test/a.test.js': 'src/a/x.js src/b/y.js src/b/y.test.js',
    "mocha 'src/**/*.test.js'": 'src/a/x.js src/b/y.js',
    'node --test src/a/x.test.js': 'src/a/x.js src/b/y.js src/b/y.test.js',
    'c8 --all mocha --require ./setup.js src/b': 'src/a/x.js',
    'cd src && jest a': 'src/b/y.js src/b/y.test.js',
    'pytest tests/unit': 'app.py',
    'uv run pytest -q tests': '',
    'python3 -m pytest tests/unit tests/slow': '',
    'go test ./pkg/a': 'pkg/a/sub/s.go',
    'go test -race ./pkg/...': '',
    'go test': 'pkg/a/a.go pkg/a/sub/s.go',
    'mvn -B -pl app test': 'lib/B.java',
    './gradlew --no-daemon :app:test': 'lib/B.java',
    'gradle :app:test :lib:check': '',
  };
  const kindsOf = (run: string) =>
    /pytest/.test(run) ? /py$/ : /^go/.test(run) ? /go$/ : /mvn|gradle/.test(run) ? /java$/ : /js$/;
  async function leftOut(run: string) {
    const plan = await planOf({
      ...tree,
      '.core.json': JSON.stringify({ validation: { commands: [{ name: 'test', run }] } }),
    });
    return untestedFiles(
      plan,
      changed.filter((path) => kindsOf(run).test(path)).map((path) => ({ path })),
    );
  }
  for (const [run, paths] of Object.entries(narrowing))
    it(`counts '${run}' for what its arguments name`, async () => {
      const untested = await leftOut(run);
      expect(untested.map(({ path }) => path).join(' ')).to.equal(paths);
      for (const { why } of untested) expect(why).to.match(/runs only the tests in/);
    });

  const unclear: Readonly<Record<string, string>> = {
    'jest -t adds': '-t',
    'jest --testPathPattern=src/a': '--testPathPattern=src/a',
    'jest --selectProjects a': '--selectProjects',
    'jest --config jest.unit.js': 'jest.unit.js',
    'jest --new-option': '--new-option',
    'jest nowhere': 'nowhere',
    'vitest run --project a': '--project',
    'mocha --grep fast': '--grep',
    'mocha test/{a,b}.test.js': 'mocha test/{a,b}.test.js',
    'node --test --test-name-pattern=a': '--test-name-pattern=a',
    'node --test --test-name-pattern a': '--test-name-pattern',
    'pytest -k fast': '-k',
    'pytest -m "not slow" tests': '-m',
    'pytest tests/unit/test_a.py::test_x': 'tests/unit/test_a.py::test_x',
    'pytest --ignore=tests/slow': '--ignore=tests/slow',
    'go test -run TestA ./...': '-run',
    'go test -short ./...': '-short',
    'go test example.org/x/...': 'example.org/x/...',
    'mvn test -Dtest=A': '-Dtest=A',
    'mvn -pl :app test': ':app',
    'gradle test --tests A': '--tests',
  };
  for (const [run, argument] of Object.entries(unclear))
    it(`counts '${run}' for nothing, and names the argument`, async () => {
      const untested = await leftOut(run);
      expect(untestedTexts(untested)).to.deep.equal([
        `not tested: ${changed.filter((path) => kindsOf(run).test(path)).join(', ')} (the command's argument '${argument}' is not understood)`,
      ]);
    });

  it('says of code beside some of its tests only that it may not be tested', async () => {
    expect(untestedTexts(await leftOut('pytest tests/unit'))).to.deep.equal([
      "may not be tested: app.py ('pytest tests/unit' runs only the tests in tests/unit)",
    ]);
    expect(untestedTexts(await leftOut('jest src/a'))[0]).to.match(/^not tested: src\/b\/y\.js/);
  });

  for (const script of ['jest src/a', 'npm run unit -- src/a', 'eslint . && npm run lint && jest src/a'])
    it(`counts the test script '${script}' for what its arguments name`, async () => {
      const scripts = { test: script, unit: 'jest --ci', lint: 'eslint src' };
      const plan = await planOf({ ...tree, 'package.json': JSON.stringify({ scripts }) });
      const untested = untestedFiles(plan, [{ path: 'src/a/x.js' }, { path: 'src/b/y.js' }]);
      expect(untested.map(({ path }) => path)).to.deep.equal(['src/b/y.js']);
    });

  const constraints: Readonly<Record<string, readonly [path: string, head: string, why: string | null]>> = {
    'a tag': ['a_test.go', '//go:build integration\n\npackage a', '//go:build integration'],
    'a tag that is not set': ['a.go', '// Licence\n\n//go:build !integration && go1.20\n\npackage a', null],
    'another system': [
      'a.go',
      '//go:build windows || (plan9 && !cgo)\n',
      '//go:build windows || (plan9 && !cgo)',
    ],
    'a name for another system': ['a_windows_test.go', '', 'the name is for windows'],
    'a name for another processor': ['a_linux_mips.go', '', 'the name is for mips'],
    'a name that only looks so': ['windows.go', 'package a', null],
    'a name with a system inside': ['a_windows_x.go', 'package a', null],
    'a condition after the package': ['a.go', 'package a\n//go:build integration\n', null],
    'a condition in a comment': ['a.go', '/*\n//go:build integration\n*/\npackage a', null],
    'a condition that cannot be read': ['a.go', '//go:build a &&\n', '//go:build a &&'],
  };
  for (const [what, [path, head, why]] of Object.entries(constraints))
    it(`follows the build constraints of Go: ${what}`, async () => {
      const plan = await planOf({ 'go.mod': goModule });
      expect(untestedTexts(untestedFiles(plan, [{ path, head }]))).to.deep.equal(
        why === null ? [] : [`not tested: ${path} ('go test' does not compile it: ${why})`],
      );
    });

  it('counts the script of a package for what its arguments name', async () => {
    const plan = await planOf({
      'package.json': workspace(['packages/*']),
      'packages/a/package.json': JSON.stringify({ scripts: { test: 'jest -t fast' } }),
      'packages/b/package.json': node,
    });
    const untested = untestedFiles(plan, [{ path: 'packages/a/x.js' }, { path: 'packages/b/x.js' }]);
    expect(untestedTexts(untested)).to.deep.equal([
      "not tested: packages/a/x.js (the command's argument '-t' is not understood)",
    ]);
  });

  for (const scripts of [{ test: 'npm run constructor' }, { test: 'npm run toString && jest', lint: 5 }])
    it(`reads the scripts ${JSON.stringify(scripts)}, which name what no script is`, async () => {
      const plan = await planOf({ 'package.json': JSON.stringify({ scripts: { test: scripts.test } }) });
      expect(plan.commands.map(({ run }) => run)).to.deep.equal(['npm test']);
      const own = { 'package.json': JSON.stringify({ scripts }), 'x.js': '' };
      const configured = { validation: { commands: [{ name: 'lint', run: 'npm run lint' }] } };
      const settings = await planOf({ ...own, '.core.json': JSON.stringify(configured) });
      expect(settings.commands.map(({ run }) => run)).to.deep.equal(['npm run lint']);
    });

  for (const run of ['cargo test -p a', 'cargo test --lib', 'cargo test adds', 'cargo test -- adds'])
    it(`counts '${run}' for nothing`, async () => {
      const files = { '.core.json': JSON.stringify({ validation: { commands: [{ name: 'test', run }] } }) };
      expect(untestedFiles(await planOf(files), [{ path: 'src/lib.rs' }])[0]?.why).to.match(
        /'(-p|--lib|adds)'/,
      );
    });

  it('leaves out documentation, media, data and build files, and asks for tests of all that is unknown', () => {
    const none = [
      ...[
        'README',
        'README.md',
        'LICENSE-MIT',
        'docs/a.rst',
        'a.svg',
        'package.json',
        '.gitignore',
        '.env.example',
      ],
      ...[
        'Makefile',
        'Dockerfile',
        'x/Cargo.lock',
        'go.mod',
        'build.gradle.kts',
        'requirements.txt',
        'CMakeLists.txt',
      ],
    ];
    for (const path of none) expect(kindOf(path), path).to.equal(null);
    expect(kindOf('a.zig')).to.equal('other');
    expect(kindOf('bin/run', '#!/usr/bin/env node')).to.equal('javascript');
    expect(kindOf('bin/run', '#!/usr/bin/python3.11')).to.equal('python');
    expect(kindOf('bin/run', '#!/bin/sh')).to.equal('shell');
    expect(kindOf('bin/run')).to.equal('other');
    expect(kindOf('.bin/run.PY')).to.equal('python');
  });

  it('names each file that needs tests once, or some command covers it', () => {
    const folder = fc.constantFrom('', 'a', 'a/b', 'c');
    const files = fc.uniqueArray(fc.constantFrom('python', 'go', 'resource'), { minLength: 1 });
    const scope = fc.record({ folder, except: fc.array(fc.constantFrom('a/b', 'c/d')), files });
    const path = fc
      .tuple(
        fc.constantFrom('', 'a/', 'a/b/', 'ab/', 'c/d/'),
        fc.constantFrom('x.py', 'x.go', 'x.md', 'x.html'),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(scope), fc.uniqueArray(path), (scopes, paths) => {
        const covers = scopes.map((one) => ({ command: 'test', ...one }));
        const commands = covers.length === 0 ? [] : [{ name: 'test', run: 'x' }];
        const plan = { source: 'detected' as const, commands, covers, without_tests: undefined };
        const found = untestedFiles(
          plan,
          paths.map((one) => ({ path: one })),
        ).map((one) => one.path);
        const below = (one: string, at: string) => at === '' || one.startsWith(`${at}/`);
        const expected = paths.filter((one) => {
          const kind = kindOf(one);
          if (kind === null) return false;
          return !covers.some(
            (cover) =>
              (cover.files as string[]).includes(kind) &&
              below(one, cover.folder) &&
              !cover.except.some((at) => below(one, at)),
          );
        });
        expect(found).to.deep.equal(expected);
      }),
    );
  });
});
