import { cutText } from '#kit/redaction/cut-text.ts';
import { failedTests } from './failed-tests.ts';
import { passed, type ValidationStep } from './steps.ts';

/** How the failures of a validation compare with those of its base. */
export interface BaseComparison {
  /** Failed tests, or failed commands whose output names none. */
  readonly failures: number;
  /** How many of them the base has too. */
  readonly on_base: number;
  /** Names of those that the base does not have. */
  readonly new_failures: readonly string[];
  /** Why it is unknown whether something new fails; empty if it is known. */
  readonly undecided: readonly string[];
}

/**
 * Compares each command that failed with the same command on the base. Failures are compared only where every reason for which a
 * command fails is known, on both sides. Steps of preparing are left out.
 */
export function compareWithBase(
  steps: readonly ValidationStep[],
  baseSteps: readonly ValidationStep[],
  commands: readonly { readonly name: string; readonly run: string }[],
): BaseComparison {
  const new_failures: string[] = [];
  const undecided: string[] = [];
  let failures = 0;
  let on_base = 0;
  for (const { name, run } of commands) {
    const now = steps.find((step) => step.phase === 'run' && step.name === name);
    const before = baseSteps.find((step) => step.phase === 'run' && step.name === name);
    if (now === undefined) undecided.push(`'${run}' did not run`);
    if (now === undefined || passed(now)) continue;
    const found = resultsOf(now);
    const count = 'why' in found ? 1 : total(found.failed);
    failures += count;
    if (before === undefined) {
      undecided.push(`'${run}' did not run on the base`);
    } else if (passed(before)) {
      new_failures.push(...('why' in found ? [`'${run}'`] : names(found.failed)));
    } else {
      const known = resultsOf(before);
      const reason = whyIncomparable(now, before);
      if (reason !== null || 'why' in found || 'why' in known) {
        const why = reason ?? ('why' in found ? found.why : 'why' in known ? known.why : '');
        undecided.push(`'${run}' fails on the base too, but cannot be compared: ${why}`);
        continue;
      }
      const added = difference(found.failed, known.failed);
      new_failures.push(...names(added));
      on_base += count - total(added);
      // Tests that did not run any more may have failed.
      if (found.passed < known.passed)
        undecided.push(`'${run}' passed ${found.passed} tests, and ${known.passed} on the base`);
    }
  }
  return { failures, on_base, new_failures, undecided };
}

/** True only if every failure is known to be one of the base too. */
export function nothingNewFails({ failures, on_base, new_failures, undecided }: BaseComparison): boolean {
  return failures > 0 && failures === on_base && new_failures.length === 0 && undecided.length === 0;
}

/** For example `also fails on the base: 3 of 3` or `new failures: 1 (a.test.js: adds); also fails on the base: 2 of 3`. */
export function comparisonText({ failures, on_base, new_failures, undecided }: BaseComparison): string {
  const named = new_failures.slice(0, 5).map(short).join(', ');
  const more = new_failures.length > 5 ? ', …' : '';
  return [
    ...(new_failures.length > 0 ? [`new failures: ${new_failures.length} (${named}${more})`] : []),
    ...(on_base > 0 ? [`also fails on the base: ${on_base} of ${failures}`] : []),
    ...undecided,
  ].join('; ');
}

function short(name: string): string {
  return cutText(name, 120);
}

function resultsOf(step: ValidationStep) {
  return failedTests(Buffer.from(step.log).toString('utf8'), step.run);
}

function whyIncomparable(now: ValidationStep, before: ValidationStep): string | null {
  const cut = [now, before].find(({ ended_by }) => ended_by !== 'exit');
  if (cut !== undefined) return `it was ended early (${cut.ended_by})`;
  if (now.truncated || before.truncated) return 'its output is longer than output_bytes';
  if (now.exit_code === before.exit_code) return null;
  return `its exit status is ${now.exit_code}, and ${before.exit_code} on the base`;
}

type Counts = ReadonlyMap<string, number>;

function difference(now: Counts, before: Counts): Counts {
  return new Map(
    [...now]
      .map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
      .filter(([, count]) => count > 0),
  );
}

function names(counts: Counts): string[] {
  return [...counts].flatMap(([name, count]) => Array<string>(count).fill(name));
}

function total(counts: Counts): number {
  return names(counts).length;
}
