import { runInNewContext } from 'node:vm';
import type { PatternRule } from '../ports/branch-rules.ts';

/** Time that a pattern of a forge may take, in ms. */
const patternMs = 200;

/** Parts of RE2's syntax that mean something else in JavaScript, or nothing. */
const onlyRe2 = /\(\?[a-zA-Z-]+[:)]|\(\?P|\\[AzQEpPCGa]|\[\[:/;

/** True if a text passes the pattern of a rule; null where that cannot be said here. */
export function passesPattern({ operator, pattern, negate }: PatternRule, text: string): boolean | null {
  const found = isFound(operator, pattern, text);
  return found === null ? null : found !== negate;
}

function isFound(operator: PatternRule['operator'], pattern: string, text: string): boolean | null {
  switch (operator) {
    case 'starts_with':
      return text.startsWith(pattern);
    case 'ends_with':
      return text.endsWith(pattern);
    case 'contains':
      return text.includes(pattern);
    case 'regex':
      return matchesRegex(pattern, text);
  }
}

/** A pattern of others may take exponential time in JavaScript, so that it runs with a time limit. */
function matchesRegex(pattern: string, text: string): boolean | null {
  if (onlyRe2.test(pattern)) return null;
  try {
    return (
      runInNewContext('new RegExp(pattern).test(text)', { pattern, text }, { timeout: patternMs }) === true
    );
  } catch {
    return null;
  }
}

/** The rule for people, for example `must start with "feature/"`. */
export function patternText({ operator, pattern, negate }: PatternRule): string {
  const verb = { starts_with: 'start with', ends_with: 'end with', contains: 'contain', regex: 'match' }[
    operator
  ];
  return `must ${negate ? 'not ' : ''}${verb} ${JSON.stringify(pattern)}`;
}
