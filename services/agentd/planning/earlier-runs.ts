import { crashPoint } from '#kit/crash-point.ts';
import { Conflict, NotFound, Refused } from '#kit/errors.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { isBy } from '../actions/account.ts';
import { openedPullRequest } from '../actions/open-pull-request.ts';
import type { Watch } from '../agent.ts';
import type { Forge, PullRequest } from '../ports/forge.ts';
import type { Run, RunSummary } from '../runs/run.ts';
import { allRuns, type RunStore } from '../runs/run-store.ts';
import type { RejectedPlan } from './planner.ts';
import type { Sources } from './read-sources.ts';

type Store = Pick<RunStore, 'list' | 'read' | 'append' | 'writeViews'>;

export interface EarlierRuns {
  /** Runs whose place this one takes when it is sealed. */
  readonly superseded: readonly string[];
  /** The newest run that waits already and takes the place of this one, which then takes that of none. */
  readonly newer: string | null;
  /** What people should know of the others. */
  readonly notices: readonly string[];
}

/**
 * Every run of the issue that waits for a decision and was asked for before `run` is to be superseded by it, unless `run` keeps
 * them or is superseded itself; what is approved, at work or has left something behind is named and stays.
 * The caller holds the lease of the issue until `run` is sealed and `supersedeEarlier` is through.
 */
export async function lookAtEarlier(store: Store, run: Run): Promise<EarlierRuns> {
  const others: Run[] = [];
  for (const { run_id } of await runsOfIssue(store, run.request)) {
    if (run_id !== run.run_id) others.push(await finishSuperseding(store, await store.read(run_id)));
  }
  const newer = others.find((other) => isWaiting(other) && replaces(other, run))?.run_id ?? null;
  const superseded: string[] = [];
  const notices: string[] = [];
  for (const other of others) {
    const { run_id } = other;
    if (newer === null && isWaiting(other) && replaces(run, other)) superseded.push(run_id);
    else if (isWaiting(other)) notices.push(`run ${run_id} of this issue still waits for a decision too`);
    else if (stands(other))
      notices.push(`run ${run_id} of this issue is ${standing(other)}; this plan does not replace it`);
  }
  if (superseded.length > 0) {
    notices.unshift(
      `takes the place of ${superseded.join(', ')}: ${superseded.length === 1 ? 'it waited for a decision, and' : 'they waited for decisions, and'} can no longer be approved`,
    );
  }
  return { superseded, newer, notices };
}

/** Newest first; none of a task, which stands for itself. */
async function runsOfIssue(
  store: Pick<RunStore, 'list'>,
  { forge, owner, repo, number }: Pick<Run['request'], 'forge' | 'owner' | 'repo' | 'number'>,
): Promise<RunSummary[]> {
  return number === null ? [] : allRuns(store, { forge, owner, repo, number });
}

/** Supersedes what the sealed plan of `run` lists. A crash leaves the rest to `finishSuperseding`. */
export async function supersedeEarlier(store: Store, { run_id, plan }: Run): Promise<void> {
  for (const earlier of plan?.supersedes ?? []) await supersede(store, earlier, run_id);
}

/**
 * A run that waits although the sealed plan of a newer one lists it, because of a crash between the two, is superseded now.
 * Whoever decides about a run, executes or shows it, or plans its issue asks this first.
 */
export async function finishSuperseding(store: Store, run: Run): Promise<Run> {
  if (!isWaiting(run)) return run;
  for (const { run_id } of await runsOfIssue(store, run.request)) {
    if (run_id <= run.run_id) break;
    const { plan } = await store.read(run_id);
    if (plan?.supersedes?.includes(run.run_id)) return supersede(store, run.run_id, run_id);
  }
  return run;
}

async function supersede(store: Store, runId: string, by_run: string): Promise<Run> {
  const after = await store.append(runId, (now) =>
    isWaiting(now) ? [{ type: 'run_superseded', data: { by_run } }] : [],
  );
  crashPoint('plan.superseded');
  await store.writeViews(runId);
  return after;
}

/** Nothing of it was approved by a person, and nothing of it has begun. */
function isWaiting({ status, actions }: Run): boolean {
  return (
    status === 'awaiting_approval' &&
    actions.every(
      ({ approval, decision, intent }) =>
        (approval !== 'approved' || decision?.standing !== undefined) && intent === null,
    )
  );
}

/** Of two plans that wait. A dry run changes nothing, so it never replaces a plan that would. */
function replaces(newer: Run, older: Run): boolean {
  const { keep, dry_run } = newer.request;
  return newer.run_id > older.run_id && keep !== true && (!dry_run || older.request.dry_run);
}

function stands({ plan, status }: Run): boolean {
  return plan !== null && !['rejected', 'undone', 'cancelled', 'superseded'].includes(status);
}

function standing({ status, actions }: Run): string {
  const begun = actions.some(({ intent }) => intent !== null);
  return status === 'awaiting_approval' && !begun ? 'approved' : status.replaceAll('_', ' ');
}

/** @throws Conflict (`run_cancelled`) */
export function requireNotCancelled({ run_id, cancelling }: Run): void {
  if (cancelling) throw new Conflict('run_cancelled', `run ${run_id} was cancelled while it was planned`);
}

/** Why people rejected earlier proposals for the same issue, newest run first; the next planning is shown it. */
export async function earlierRejections(store: RunStore, run: Run): Promise<RejectedPlan[]> {
  const { forge, owner, repo, number } = run.request;
  if (number === null) return [];
  const page = await store.list({ limit: 20, forge, owner, repo, number });
  const rejections: RejectedPlan[] = [];
  for (const { run_id } of page.runs) {
    if (run_id === run.run_id) continue;
    const earlier = await store.read(run_id);
    const { plan } = earlier;
    for (const { approval, decision, definition } of plan === null ? [] : earlier.actions) {
      if (approval !== 'rejected' || decision?.reason == null) continue;
      const { at, approver: by, reason } = decision;
      const { patch, explanation } = plan!;
      rejections.push({ run_id, at, by, action: definition.kind, reason, patch, explanation });
    }
  }
  return rejections;
}

/** A pull request that an earlier run of the issue opened. */
interface OwnPullRequest extends Pick<PullRequest, 'number' | 'state' | 'html_url'> {
  readonly run_id: string;
}

/**
 * Checks that the issue still needs a plan: it is open, and no pull request of ours for it was merged.
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
  const name = subjectOf({ ...repository, number });
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
    hint: 'To plan it anyway, add --anyway to the command; over HTTP and the bus, "anyway": true.',
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
