import { onlyRunnerOf, type TestRunner } from './test-runners.ts';

/** What a test runner says of its failures. */
export interface TestResults {
  /** How often each test failed, by a name that another run of the same tests uses too. */
  readonly failed: ReadonlyMap<string, number>;
  /** Tests that passed, or packages where the runner counts only those. */
  readonly passed: number;
}

/** Why the output of a command does not say for certain which tests failed. */
export interface UnknownResults {
  readonly why: string;
}

interface Reporter {
  readonly runner: TestRunner;
  /** A line that the reporter writes once in each run. */
  readonly sign: RegExp;
  /** null if the output does not say all that failed, or not every test ran. */
  readonly read: (log: string, command: string) => TestResults | null;
}

const reporters: readonly Reporter[] = [
  { runner: 'node', sign: /^# fail \d+$/gm, read: readTap },
  { runner: 'node', sign: /^ℹ fail \d+$/gm, read: readNodeSpec },
  {
    runner: 'pytest',
    sign: /^=*\s*(\d+ \w+, )*\d+ (failed|errors?|passed)\b.* in [\d.]+s/gm,
    read: readPytest,
  },
  { runner: 'cargo', sign: /^error: \d+ targets? failed:$/gm, read: readCargo },
  { runner: 'go', sign: /^FAIL\n(?!FAIL\t|exit status)/gm, read: readGo },
  { runner: 'jest', sign: /^Test Suites: .*\btotal$/gm, read: readJest },
  { runner: 'vitest', sign: /^\s*Test Files {2}.*\(\d+\)/gm, read: readVitest },
];

/** Words of runners and their plugins for a run that fails because too few lines are covered. */
const coverageFailure =
  /\bcoverage\b.*\b(threshold|less than|below|fail\w*|not (met|meet|reached))\b|^FAIL required test coverage/im;

/**
 * The tests that failed in a command's output. They are known only if the command is one run of one known runner, its output is
 * complete and its counts are those of its list: then nothing else can be why the command failed.
 */
export function failedTests(output: string, command: string): TestResults | UnknownResults {
  const log = `${output
    .replace(/\x1b\[[0-9;]*m/g, '')
    .replaceAll('\r\n', '\n')
    .replace(/\n$/, '')}\n`;
  const runner = onlyRunnerOf(command, log);
  if (typeof runner !== 'string') return runner;
  if (coverageFailure.test(log)) return { why: 'its coverage is too low' };
  const found = reporters.flatMap((reporter) => [...log.matchAll(reporter.sign)].map(() => reporter));
  const [reporter] = found;
  if (found.length > 1) return { why: 'its output holds more than one report of tests' };
  const results = reporter?.runner === runner ? reporter.read(log, command) : null;
  if (results === null || results.failed.size === 0)
    return { why: 'its output does not say for certain which tests failed' };
  return results;
}

function resultsOf(failed: readonly string[], passed: number): TestResults {
  const counts = new Map<string, number>();
  for (const name of failed) counts.set(name, (counts.get(name) ?? 0) + 1);
  return { failed: counts, passed };
}

function sum(log: string, counts: RegExp): number {
  return [...log.matchAll(counts)].reduce((total, [, count]) => total + Number(count), 0);
}

/** A path in the workspace, without line and column. */
function fileOf(location: string): string {
  return location.replace(/^.*\/workspace\//, '').replace(/(:\d+)+$/, '');
}

/** node:test. Each failure is followed by its location; a parent fails with its children. */
function readTap(log: string): TestResults | null {
  const found = [
    ...log.matchAll(/^\s*not ok \d+ - (.*)\n\s+---\n(?:\s+(?!location:|\.\.\.).*\n)*?\s+location: '(.*)'$/gm),
  ];
  const failures = [...log.matchAll(/^\s*not ok \d+/gm)].filter(([line]) => !line.includes('# TODO'));
  if (found.length !== failures.length || found.length < sum(log, /^# fail (\d+)$/gm)) return null;
  const names = found.map(([, name, location]) => `${fileOf(location!)}: ${name}`);
  return resultsOf(names, sum(log, /^# pass (\d+)$/gm));
}

/** node:test. The failures stand at the end of each run, those of parents without their own are left out. */
function readNodeSpec(log: string): TestResults | null {
  const found = [...log.matchAll(/^test at (.+)\n✖ (.*?)(?: \([\d.]+ms\))?(?: #.*)?$/gm)];
  const runs = [...log.matchAll(/^ℹ fail ([1-9]\d*)$/gm)].length;
  const lists = [...log.matchAll(/^✖ failing tests:$/gm)].length;
  if (found.length !== [...log.matchAll(/^test at /gm)].length || lists !== runs || found.length < runs)
    return null;
  if (found.length > sum(log, /^ℹ fail (\d+)$/gm)) return null;
  const names = found.map(([, location, name]) => `${fileOf(location!)}: ${name}`);
  return resultsOf(names, sum(log, /^ℹ pass (\d+)$/gm));
}

function readPytest(log: string): TestResults | null {
  if (/^!+ (stopping after|Interrupted)/m.test(log)) return null;
  const found = [...log.matchAll(/^(?:FAILED|ERROR) ([^\s[]+(?:\[.*?\](?= - |$))?)/gm)].map(
    ([, name]) => name!,
  );
  const summaries = [...log.matchAll(/^=*\s*((?:\d+ \w+,? ?)+) in [\d.]+s/gm)]
    .map(([, counts]) => counts!)
    .join('\n');
  if (found.length !== sum(summaries, /(\d+) (?:failed|errors?)\b/g)) return null;
  return resultsOf(found, sum(summaries, /(\d+) passed/g));
}

/** Without --no-fail-fast, cargo leaves out the test programs after the first that fails. */
function readCargo(log: string): TestResults | null {
  if (/could not compile/.test(log)) return null;
  // A test program that ended early has no result.
  if (sum(log, /^error: (\d+) targets? failed:$/gm) !== [...log.matchAll(/^test result: FAILED\./gm)].length)
    return null;
  const found: string[] = [];
  let program = '';
  for (const line of log.split('\n')) {
    program = /^\s+(?:Running|Doc-tests) (.*?)(?: \(.*\))?$/.exec(line)?.[1] ?? program;
    const name = /^test (.*) \.\.\. FAILED$/.exec(line)?.[1];
    if (name !== undefined) found.push(`${program}: ${name}`);
  }
  if (found.length !== sum(log, /^test result: .* (\d+) failed;/gm)) return null;
  return resultsOf(found, sum(log, /^test result: .* (\d+) passed;/gm));
}

/** The names of a package's tests stand before the package. */
function readGo(log: string, command: string): TestResults | null {
  if (/-failfast/.test(command)) return null;
  if (/^panic: |\[(build|setup) failed\]/m.test(log)) return null;
  const found: string[] = [];
  let names: string[] = [];
  let ended = false;
  for (const line of log.split('\n')) {
    // A test program that ended early does not say it itself.
    if (line === 'FAIL') ended = true;
    const name = /^\s*--- FAIL: (\S+)/.exec(line)?.[1];
    if (name !== undefined) names.push(name);
    const failed = /^FAIL\t(\S+)/.exec(line)?.[1];
    if (failed !== undefined) {
      if (names.length === 0 || !ended) return null;
      found.push(...names.map((one) => `${failed}: ${one}`));
      names = [];
      ended = false;
    }
  }
  if (names.length > 0) return null;
  return resultsOf(found, [...log.matchAll(/^ok {2}\t/gm)].length);
}

function readJest(log: string): TestResults | null {
  if (/Test suite failed to run|^Test Suites: .*\d of \d+ total$/m.test(log)) return null;
  const found = new Set<string>();
  let file = '';
  for (const line of log.split('\n')) {
    file = /^\s*FAIL +(\S+)/.exec(line)?.[1] ?? file;
    const name = /^\s*● (.*)$/.exec(line)?.[1];
    if (name !== undefined) found.add(`${file}: ${name}`);
  }
  if (found.size !== sum(log, /^Tests: .*?(\d+) failed/gm)) return null;
  return resultsOf([...found], sum(log, /^Tests: .*?(\d+) passed/gm));
}

function readVitest(log: string): TestResults | null {
  if (/Failed Suites|Unhandled (Errors?|Rejection|Source)|Type Errors|Typecheck Error/.test(log)) return null;
  const found = [...log.matchAll(/^\s*FAIL {2}(\S+ > .*)$/gm)].map(([, name]) => name!);
  if (found.length !== sum(log, /^\s*Tests {2}.*?(\d+) failed/gm)) return null;
  return resultsOf(found, sum(log, /^\s*Tests {2}.*?(\d+) passed/gm));
}
