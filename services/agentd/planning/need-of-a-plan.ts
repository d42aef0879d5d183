import { NotFound, Refused } from '#kit/errors.ts';
import { isBy } from '../actions/account.ts';
import { openedPullRequest } from '../actions/open-pull-request.ts';
import type { Watch } from '../agent.ts';
import type { Forge, PullRequest } from '../ports/forge.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { runsOfIssue } from './earlier-runs.ts';
import type { Sources } from './read-sources.ts';

/** A pull request that an earlier run of the issue opened. */
interface OwnPullRequest extends Pick<PullRequest, 'number' | 'state' | 'html_url'> {
  readonly run_id: string;
}

/**
 * Whether the issue still needs a plan: it is open, and no pull request of ours for it was merged.
 * @returns what to know before another plan is made: a pull request of ours that is open, or why none is needed
 * @throws Refused (`issue_fixed`, `issue_closed`) unless the run was asked for with `anyway`
 */
export async function requireNeedOfPlan(
  store: Pick<RunStore, 'list' | 'read'>,
  forge: Forge,
  run: Run,
  { repository, state }: Pick<Sources, 'repository' | 'state'>,
  watch: Watch,
): Promise<string[]> {
  const { number, anyway } = run.request;
  const name = `${repository.owner}/${repository.repo}#${number}`;
  const pulls = await ownPullRequests(store, forge, run, watch.signal);
  const merged = pulls.find((pull) => pull.state === 'merged');
  const open = pulls.filter((pull) => pull.state === 'open');
  const notices: string[] = [];
  if (merged !== undefined) {
    const what = `${name} is fixed: ${named(merged)} was merged`;
    if (anyway !== true) throw notNeeded('issue_fixed', what);
    notices.push(`${what}; planned all the same`);
  } else if (state === 'closed') {
    if (anyway !== true) throw notNeeded('issue_closed', `${name} is closed`);
    notices.push(`${name} is closed; planned all the same`);
  }
  for (const pull of open) {
    notices.push(`${named(pull)} is open for this issue; this plan would open another`);
  }
  for (const message of notices) watch.progress({ step: 'source', state: 'info', message });
  return notices;
}

function notNeeded(code: string, what: string): Refused {
  return new Refused(code, `${what}; nothing is proposed`, {
    hint: 'plan-issue --anyway plans it all the same; over HTTP and the bus "anyway": true.',
  });
}

function named({ number, html_url, run_id }: OwnPullRequest): string {
  return `pull request #${number}${html_url === null ? '' : ` (${html_url})`} of run ${run_id}`;
}

/** As the forge has them now, of the newest run first. One that is gone there is none. */
async function ownPullRequests(
  store: Pick<RunStore, 'list' | 'read'>,
  forge: Forge,
  run: Run,
  signal: AbortSignal,
): Promise<OwnPullRequest[]> {
  const found: OwnPullRequest[] = [];
  for (const { run_id } of await runsOfIssue(store, run.request)) {
    if (run_id === run.run_id) continue;
    const earlier = await store.read(run_id);
    for (const { number, state, html_url } of await pullRequestsOf(forge, earlier, signal))
      found.push({ number, state, html_url, run_id });
  }
  return found;
}

/** By its number where the run knows it; after a lost answer by branch and account. */
async function pullRequestsOf(
  forge: Forge,
  run: Run,
  signal: AbortSignal,
): Promise<readonly Pick<PullRequest, 'number' | 'state' | 'html_url'>[]> {
  const { pull_request: seen } = run;
  if (seen?.state === 'merged') return [{ number: seen.number, state: seen.state, html_url: seen.url }];
  const opened = openedPullRequest(run);
  if (opened !== null) {
    const known = forge.pullRequest(run.request, opened, signal);
    return known.then(
      (pull) => [pull],
      (error: unknown) => {
        if (error instanceof NotFound) return [];
        throw error;
      },
    );
  }
  const begun = run.actions.find(({ definition }) => definition.kind === 'open_pull_request');
  const { branch } = run.plan?.target ?? {};
  const account = begun?.intent?.account;
  const lost = begun?.state === 'running' || begun?.state === 'unknown';
  if (!lost || account == null || branch == null) return [];
  const pulls = await forge.findPullRequests(run.request, branch, signal);
  return pulls.filter(({ author }) => isBy(author, account));
}
