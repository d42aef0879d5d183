const lack = / \(needs ([^:]+): (.*)\)$/;

interface Skipped {
  tests: number;
  readonly suites: Set<string>;
}

/**
 * What a run left out: for each lacking thing the command that provides it and the suites that wait for it.
 * @param titlePaths the titles of each skipped test, outermost suite first, as `describeWith` and `itWith` write them
 */
export function skipSummary(titlePaths: readonly (readonly string[])[]): string {
  if (titlePaths.length === 0) return '';
  const lacks = new Map<string, Skipped>();
  for (const titles of titlePaths) {
    const named = titles.findIndex((title) => lack.test(title));
    const [, name, provide] = lack.exec(titles[named] ?? '') ?? [];
    const heading = name === undefined ? 'not on this machine' : `${name}: ${provide}`;
    const skipped = lacks.get(heading) ?? { tests: 0, suites: new Set() };
    skipped.tests += 1;
    skipped.suites.add(
      titles
        .slice(0, named === -1 ? undefined : named + 1)
        .join(' › ')
        .replace(lack, ''),
    );
    lacks.set(heading, skipped);
  }
  const lines = [`  Skipped, with what runs them: ${count(titlePaths.length)}`];
  for (const [heading, { tests, suites }] of lacks) {
    lines.push('', `  ${heading}  (${count(tests)})`, ...[...suites].map((suite) => `    ${suite}`));
  }
  return `${lines.join('\n')}\n\n`;
}

function count(tests: number): string {
  return tests === 1 ? '1 test' : `${tests} tests`;
}
