import type { PullRequestOutcome } from '../ports/forge.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';

/** The event for what the forge says; none where that is known. */
export function seenEvents(run: Run, found: PullRequestOutcome): NewEvent[] {
  const seen: DataOf<'pull_request_seen'> = {
    number: found.number,
    url: found.html_url,
    state: found.state,
    ended_at: found.ended_at,
    head_commit: found.head_commit,
    checks: found.checks,
    failed_checks: [...found.failed_checks],
  };
  const known = run.pull_request;
  const same =
    known !== null &&
    known.number === seen.number &&
    known.state === seen.state &&
    known.checks === seen.checks &&
    known.head_commit === seen.head_commit &&
    known.failed_checks.join('\n') === seen.failed_checks.join('\n');
  return same ? [] : [{ type: 'pull_request_seen', data: seen }];
}
