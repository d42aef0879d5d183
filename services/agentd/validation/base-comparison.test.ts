import { expect } from 'chai';
import { compareWithBase, comparisonText, nothingNewFails } from './base-comparison.ts';
import { failedTests } from './failed-tests.ts';
import type { ValidationStep } from './steps.ts';

/** As the runners write them, without the details of each failure. */
const outputs: Readonly<Record<string, { log: string; command: string; failed: string[]; passed: number }>> =
  {
    'node:test, for people': {
      command: 'node --test',
      log: `✔ ok (2.8ms)
✖ bad (12.4ms)
▶ suite
  ✖ in bad (25.1ms)
✖ suite (57.2ms)
ℹ tests 3
ℹ suites 1
ℹ pass 1
ℹ fail 2

✖ failing tests:

test at test/a.test.js:2:20
✖ bad (12.4ms)
  AssertionError [ERR_ASSERTION]: 1 == 2

test at test/a.test.js:3:24
✖ in bad (25.1ms)
  AssertionError [ERR_ASSERTION]: 1 == 2
`,
      failed: ['test/a.test.js: bad', 'test/a.test.js: in bad'],
      passed: 1,
    },
    'node:test, as TAP': {
      command: 'npm test',
      log: `
> demo@1.0.0 test
> node --test test/*.test.js

TAP version 13
# Subtest: ok
ok 1 - ok
  ---
  duration_ms: 1.2
  ...
# Subtest: suite
    # Subtest: in bad
    not ok 1 - in bad
      ---
      duration_ms: 48.6
      location: '/workspace/a.test.js:3:24'
      error: '1 == 2'
      ...
    1..1
not ok 2 - suite
  ---
  duration_ms: 49.3
  type: 'suite'
  location: '/workspace/a.test.js:3:1'
  ...
1..2
# tests 2
# pass 1
# fail 1
`,
      failed: ['a.test.js: in bad', 'a.test.js: suite'],
      passed: 1,
    },
    pytest: {
      command: 'python3 -m pytest',
      log: `=========================== short test summary info ============================
FAILED test_x.py::test_bad[a b - c] - AssertionError: assert 'a b - c' == 'd'
ERROR test_x.py::test_err - ValueError: x
===================== 1 failed, 2 passed, 1 error in 0.14s =====================
`,
      failed: ['test_x.py::test_bad[a b - c]', 'test_x.py::test_err'],
      passed: 2,
    },
    cargo: {
      command: 'cargo test --workspace --no-fail-fast',
      log: `     Running unittests src/lib.rs (target/debug/deps/a-1f2e)

running 2 tests
test t ... FAILED
test u ... ok

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.52s

error: test failed, to rerun pass \`-p a --lib\`
   Doc-tests a

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: 1 target failed:
    \`-p a --lib\`
`,
      failed: ['unittests src/lib.rs: t'],
      passed: 1,
    },
    go: {
      command: 'go test ./...',
      log: `ok  \texample.org/x\t0.004s
--- FAIL: TestA (0.00s)
    --- FAIL: TestA/sub (0.00s)
        y_test.go:3: no
FAIL
FAIL\texample.org/y\t0.005s
FAIL
`,
      failed: ['example.org/y: TestA', 'example.org/y: TestA/sub'],
      passed: 1,
    },
    jest: {
      command: 'yarn test',
      log: `$ jest --ci
FAIL t/a.test.js
  ● bad

    expect(received).toBe(expected)

  ● s › worse

PASS t/b.test.js

Test Suites: 1 failed, 1 passed, 2 total
Tests:       2 failed, 2 passed, 4 total
`,
      failed: ['t/a.test.js: bad', 't/a.test.js: s › worse'],
      passed: 2,
    },
    vitest: {
      command: 'PATH=/usr/bin:"$PATH" npx vitest run',
      log: `\x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m v/a.test.mjs\x1b[2m > \x1b[22mbad
\x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m v/a.test.mjs\x1b[2m > \x1b[22ms\x1b[2m > \x1b[22mworse

\x1b[2m Test Files \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m\x1b[90m (1)\x1b[39m
\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[31m2 failed\x1b[39m\x1b[22m\x1b[2m | \x1b[22m\x1b[1m\x1b[32m1 passed\x1b[39m\x1b[22m\x1b[90m (3)\x1b[39m
`,
      failed: ['v/a.test.mjs > bad', 'v/a.test.mjs > s > worse'],
      passed: 1,
    },
  };

describe('The tests that failed, by the output of a command', () => {
  for (const [runner, { log, command, failed, passed }] of Object.entries(outputs)) {
    it(`are known for ${runner}`, () => {
      const found = failedTests(log, command);
      if ('why' in found) throw new Error(found.why);
      expect([...found.failed].flatMap(([name, count]) => Array(count).fill(name))).to.deep.equal(failed);
      expect(found.passed).to.equal(passed);
    });
  }

  const notCertain = 'its output does not say for certain which tests failed';
  const log = (runner: string) => outputs[runner]!.log;
  const npm = (...scripts: string[]) => scripts.map((line) => `\n> a@1.0.0 test\n> ${line}\n\n`).join('');
  const noSingle = `is not a single call of node --test, pytest, cargo test, go test, jest or vitest`;
  const unknown: Readonly<Record<string, readonly [log: string, command: string, why?: string]>> = {
    'nothing is said': ['', 'node --test'],
    'another program failed': ['eslint: 3 problems\n', 'eslint .', `it ${noSingle}`],
    'cargo did not compile': [`${log('cargo')}error: could not compile \`b\` (lib test)\n`, 'cargo test'],
    'cargo left out programs': [log('cargo').replace(/error: 1 target failed:[\s\S]*$/, ''), 'cargo test'],
    'a test program of cargo ended early': [log('cargo').replace('1 target', '2 targets'), 'cargo test'],
    'a Go package did not build': [`${log('go')}FAIL\texample.org/z [build failed]\n`, 'go test ./...'],
    'a Go test ended its process': [`panic: boom\n${log('go')}`, 'go test ./...'],
    'a Go test program ended early': [
      log('go').replace('FAIL\nFAIL\texample.org/y', 'FAIL\texample.org/y'),
      'go test ./...',
    ],
    'Go may have left out tests': [log('go'), 'make test', `it ${noSingle}`],
    'Go left out tests': [log('go'), 'go test -failfast ./...'],
    'pytest stopped early': [`!!!!!!!! stopping after 1 failures !!!!!!!!\n${log('pytest')}`, 'pytest'],
    'pytest counts more than it lists': [log('pytest').replace('1 failed', '2 failed'), 'pytest'],
    'jest stopped early': [log('jest').replace('2 total', '1 of 3 total'), 'yarn test'],
    'jest could not load a file': [log('jest').replace('● bad', '● Test suite failed to run'), 'yarn test'],
    'vitest counts more than it lists': [log('vitest').replace('2 failed', '3 failed'), 'vitest run'],
    'node:test lists less than it counts': [
      log('node:test, as TAP').replace("location: '/workspace/a.test.js:3:24'", ''),
      'npm test',
    ],
    'two runs are in one output': [
      `${log('pytest')}${log('pytest')}`,
      'pytest',
      'its output holds more than one report of tests',
    ],
    'the report is that of another runner': [log('pytest'), 'node --test'],
    'another script runs beside it': [
      `${npm('node --test', 'node check.js')}${log('node:test, for people')}`,
      'npm test --workspaces --if-present',
      'it runs several scripts (node --test; node check.js)',
    ],
    'the script runs more': [
      `${npm('node --test; node check.js')}${log('node:test, for people')}`,
      'npm test',
      `its script 'node --test; node check.js' ${noSingle}`,
    ],
    'the command runs more': [log('go'), 'go vet ./... && go test ./...', `it ${noSingle}`],
    'the script is not named': [
      log('jest').replace(/^\$ jest.*\n/, ''),
      'npm test',
      'its output does not name the script that it runs',
    ],
    'a threshold of jest is not met': [
      `${log('jest')}Jest: "global" coverage threshold for lines (90%) not met: 40%\n`,
      'yarn test',
      'its coverage is too low',
    ],
    'a threshold of pytest is not met': [
      `FAIL Required test coverage of 90% not reached. Total coverage: 40%\n${log('pytest')}`,
      'pytest',
      'its coverage is too low',
    ],
    'a threshold of node:test is not met': [
      `${log('node:test, for people')}ℹ Error: 40.00% line coverage does not meet threshold of 90%.\n`,
      'node --test',
      'its coverage is too low',
    ],
  };
  for (const [title, [output, command, why = notCertain]] of Object.entries(unknown)) {
    it(`are unknown if ${title}`, () => {
      expect(failedTests(output, command)).to.deep.equal({ why });
    });
  }
});

describe('The failures of a validation beside those of its base', () => {
  const step = (log: string, more: Partial<ValidationStep> = {}): ValidationStep => ({
    phase: 'run',
    name: 'test',
    run: 'pytest',
    exit_code: 1,
    ended_by: 'exit',
    duration_ms: 1,
    truncated: false,
    log: Buffer.from(log),
    ...more,
  });
  const failing = (names: readonly string[], passed = 5) =>
    `${names.map((name) => `FAILED t.py::${name} - no\n`).join('')}=== ${names.length} failed, ${passed} passed in 0.1s ===\n`;
  const commandsOf = ([one]: readonly ValidationStep[]) => [{ name: 'test', run: one!.run }];
  const green = step('', { exit_code: 0 });

  const workspaces = { run: 'npm test --workspaces' };
  const banner = (script: string) => `\n> x@1.0.0 test\n> ${script}\n\n`;
  const red = outputs['node:test, for people']!.log;

  const table: Readonly<
    Record<
      string,
      readonly [now: ValidationStep[], before: ValidationStep[], text: string, nothingNew: boolean]
    >
  > = {
    'the same': [
      [step(failing(['a', 'b', 'c']))],
      [step(failing(['c', 'a', 'b']))],
      'also fails on the base: 3 of 3',
      true,
    ],
    'fewer than before': [
      [step(failing(['a'], 6))],
      [step(failing(['a', 'b']))],
      'also fails on the base: 1 of 1',
      true,
    ],
    'one more': [
      [step(failing(['a', 'b', 'c'], 4))],
      [step(failing(['a', 'b']))],
      "new failures: 1 (t.py::c); also fails on the base: 2 of 3; 'pytest' passed 4 tests, and 5 on the base",
      false,
    ],
    'another one': [[step(failing(['b']))], [step(failing(['a']))], 'new failures: 1 (t.py::b)', false],
    'the same one more often': [
      [step(failing(['a', 'a']))],
      [step(failing(['a']))],
      'new failures: 1 (t.py::a); also fails on the base: 1 of 2',
      false,
    ],
    'the same, but fewer tests passed': [
      [step(failing(['a'], 3))],
      [step(failing(['a'], 5))],
      "also fails on the base: 1 of 1; 'pytest' passed 3 tests, and 5 on the base",
      false,
    ],
    'none on the base': [[step(failing(['a']))], [green], 'new failures: 1 (t.py::a)', false],
    'none on the base, without names': [[step('boom')], [green], "new failures: 1 ('pytest')", false],
    'without names on both': [
      [step('boom')],
      [step('boom')],
      "'pytest' fails on the base too, but cannot be compared: its output does not say for certain which tests failed",
      false,
    ],
    'another exit status': [
      [step(failing(['a']), { exit_code: 2 })],
      [step(failing(['a']))],
      "'pytest' fails on the base too, but cannot be compared: its exit status is 2, and 1 on the base",
      false,
    ],
    'cut output': [
      [step(failing(['a']), { truncated: true })],
      [step(failing(['a']))],
      "'pytest' fails on the base too, but cannot be compared: its output is longer than output_bytes",
      false,
    ],
    'a timeout': [
      [step(failing(['a']))],
      [step(failing(['a']), { ended_by: 'timeout', exit_code: null })],
      "'pytest' fails on the base too, but cannot be compared: it was ended early (timeout)",
      false,
    ],
    'a command that did not run': [[], [green], "'pytest' did not run", false],
    'a base that did not run it': [[step(failing(['a']))], [], "'pytest' did not run on the base", false],
    'a red workspace, and another that the change breaks': [
      [{ ...step(`${banner('node --test')}${red}${banner('node check.js')}b is broken\n`), ...workspaces }],
      [{ ...step(`${banner('node --test')}${red}${banner('node check.js')}`), ...workspaces }],
      "'npm test --workspaces' fails on the base too, but cannot be compared: it runs several scripts (node --test; node check.js)",
      false,
    ],
    'nothing failed': [[green], [green], '', false],
  };
  for (const [title, [now, before, text, nothingNew]] of Object.entries(table)) {
    it(`are told apart: ${title}`, () => {
      const comparison = compareWithBase(now, before, commandsOf([...now, ...before]));
      expect(comparisonText(comparison)).to.equal(text);
      expect(nothingNewFails(comparison)).to.equal(nothingNew);
    });
  }
});
