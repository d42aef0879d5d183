import { expect } from 'chai';
import { compareWithBase, comparisonText, nothingNewFails } from './base-comparison.ts';
import { failedTests } from './failed-tests.ts';
import type { ValidationStep } from './steps.ts';

/** As the runners write them, without the details of each failure. */
const outputs: Readonly<Record<string, { log: string; command: string; failed: string[]; passed: number }>> =
  {
    'node:test, for people': {
      command: 'npm test',
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
      log: `TAP version 13
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
      command: 'npm test',
      log: `FAIL t/a.test.js
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
      command: 'npm test',
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
      expect([...(found?.failed ?? [])].flatMap(([name, count]) => Array(count).fill(name))).to.deep.equal(
        failed,
      );
      expect(found?.passed).to.equal(passed);
    });
  }

  const unknown: Readonly<Record<string, readonly [log: string, command?: string]>> = {
    'nothing is said': [''],
    'another program failed': ['eslint: 3 problems\n'],
    'cargo did not compile': [`${outputs.cargo!.log}error: could not compile \`b\` (lib test)\n`],
    'cargo left out programs': [outputs.cargo!.log.replace(/error: 1 target failed:[\s\S]*$/, '')],
    'a Go package did not build': [`${outputs.go!.log}FAIL\texample.org/z [build failed]\n`, 'go test ./...'],
    'a Go test ended its process': [`panic: boom\n${outputs.go!.log}`, 'go test ./...'],
    'Go may have left out tests': [outputs.go!.log, 'make test'],
    'Go left out tests': [outputs.go!.log, 'go test -failfast ./...'],
    'pytest stopped early': [`!!!!!!!! stopping after 1 failures !!!!!!!!\n${outputs.pytest!.log}`],
    'pytest counts more than it lists': [outputs.pytest!.log.replace('1 failed', '2 failed')],
    'jest stopped early': [outputs.jest!.log.replace('2 total', '1 of 3 total')],
    'jest could not load a file': [outputs.jest!.log.replace('● bad', '● Test suite failed to run')],
    'vitest counts more than it lists': [outputs.vitest!.log.replace('2 failed', '3 failed')],
    'node:test lists less than it counts': [
      outputs['node:test, as TAP']!.log.replace("location: '/workspace/a.test.js:3:24'", ''),
    ],
  };
  for (const [why, [log, command = 'npm test']] of Object.entries(unknown)) {
    it(`are unknown if ${why}`, () => {
      expect(failedTests(log, command)).to.equal(null);
    });
  }
});

describe('The failures of a validation beside those of its base', () => {
  const step = (log: string, more: Partial<ValidationStep> = {}): ValidationStep => ({
    phase: 'run',
    name: 'test',
    run: 'npm test',
    exit_code: 1,
    ended_by: 'exit',
    duration_ms: 1,
    truncated: false,
    log: Buffer.from(log),
    ...more,
  });
  const failing = (names: readonly string[], passed = 5) =>
    `${names.map((name) => `FAILED t.py::${name} - no\n`).join('')}=== ${names.length} failed, ${passed} passed in 0.1s ===\n`;
  const commands = [{ name: 'test', run: 'npm test' }];
  const green = step('', { exit_code: 0 });

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
      "new failures: 1 (t.py::c); also fails on the base: 2 of 3; 'npm test' passed 4 tests, and 5 on the base",
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
      "also fails on the base: 1 of 1; 'npm test' passed 3 tests, and 5 on the base",
      false,
    ],
    'none on the base': [[step(failing(['a']))], [green], 'new failures: 1 (t.py::a)', false],
    'none on the base, without names': [[step('boom')], [green], "new failures: 1 ('npm test')", false],
    'without names on both': [
      [step('boom')],
      [step('boom')],
      "'npm test' fails on the base too, but its output does not say for certain which tests failed",
      false,
    ],
    'another exit status': [
      [step(failing(['a']), { exit_code: 2 })],
      [step(failing(['a']))],
      "'npm test' fails on the base too, but its exit status is 2, and 1 on the base",
      false,
    ],
    'cut output': [
      [step(failing(['a']), { truncated: true })],
      [step(failing(['a']))],
      "'npm test' fails on the base too, but its output is longer than output_bytes",
      false,
    ],
    'a timeout': [
      [step(failing(['a']))],
      [step(failing(['a']), { ended_by: 'timeout', exit_code: null })],
      "'npm test' fails on the base too, but it was ended early (timeout)",
      false,
    ],
    'a command that did not run': [[], [green], "'npm test' did not run", false],
    'a base that did not run it': [[step(failing(['a']))], [], "'npm test' did not run on the base", false],
    'nothing failed': [[green], [green], '', false],
  };
  for (const [title, [now, before, text, nothingNew]] of Object.entries(table)) {
    it(`are told apart: ${title}`, () => {
      const comparison = compareWithBase(now, before, commands);
      expect(comparisonText(comparison)).to.equal(text);
      expect(nothingNewFails(comparison)).to.equal(nothingNew);
    });
  }
});
