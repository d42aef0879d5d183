import type { CheckState } from '../ports/forge.ts';

/** One thing that ran on a commit, in the words that all forges share. */
export interface Check {
  readonly name: string;
  readonly state: 'pending' | 'passed' | 'failed';
}

/** All together: failed as soon as one failed, passed when all did. */
export function checksTogether(checks: readonly Check[]): {
  readonly checks: CheckState;
  readonly failed_checks: string[];
} {
  const failed = checks.filter(({ state }) => state === 'failed').map(({ name }) => name);
  const failed_checks = [...new Set(failed)].sort();
  if (failed.length > 0) return { checks: 'failed', failed_checks };
  if (checks.length === 0) return { checks: 'none', failed_checks };
  return { checks: checks.some(({ state }) => state === 'pending') ? 'pending' : 'passed', failed_checks };
}

/** How GitHub and Gitea call the states of commit statuses. */
export function stateOfStatus(word: string): Check['state'] {
  if (word === 'success' || word === 'warning' || word === 'skipped') return 'passed';
  return word === 'pending' ? 'pending' : 'failed';
}
