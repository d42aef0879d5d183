import { codeOf, messageOf, NotFound } from '#kit/errors.ts';
import { openedPullRequest } from '../actions/open-pull-request.ts';
import type { DeliveryReport, PullRequestReport, SyncReport, SyncRequest, Watch } from '../agent.ts';
import { nameEvents } from '../execution/renamed-repository.ts';
import type { RunDelivery } from '../outbox/run-delivery.ts';
import type { Forge, PullRequestOutcome } from '../ports/forge.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import type { Run, RunSummary } from '../runs/run.ts';
import { allRuns, type RunStore } from '../runs/run-store.ts';

export interface SyncPorts {
  readonly store: RunStore;
  readonly forge: (name: string) => Forge;
  /** null where no context service is configured. */
  readonly delivery: RunDelivery | null;
}

/** True of runs that cannot have a pull request. */
function isUntouched({ status, waiting, actions }: RunSummary): boolean {
  return status === 'planning' || status === 'rejected' || (actions > 0 && waiting === actions);
}

/** Requests to forges at once. */
const concurrency = 4;

/** Asks the forges about pull requests, and delivers pending runs to core-context. */
export async function syncRuns(ports: SyncPorts, request: SyncRequest, watch: Watch): Promise<SyncReport> {
  const runs = await runsWithPullRequest(ports.store, request, watch.signal);
  const pull_requests = await inTurns(runs, (run) => askForge(ports, run, watch));
  if (request.full === true) ports.delivery?.forget();
  if (ports.delivery !== null)
    watch.progress({ step: 'sync', state: 'info', message: `delivering to ${ports.delivery.contextName}` });
  const context: DeliveryReport | null =
    ports.delivery === null ? null : await ports.delivery.deliverPending(watch.signal);
  return { pull_requests, context };
}

async function runsWithPullRequest(
  store: RunStore,
  { repository }: SyncRequest,
  signal: AbortSignal,
): Promise<Run[]> {
  const found: Run[] = [];
  for (const summary of await allRuns(store, repository ?? {})) {
    signal.throwIfAborted();
    if (isUntouched(summary)) continue;
    const run = await store.read(summary.run_id);
    if (openedPullRequest(run) !== null) found.push(run);
  }
  return found;
}

/** What was merged stays merged, and its checks were seen then. */
function isSettled({ pull_request }: Run): boolean {
  return pull_request?.state === 'merged' && pull_request.checks !== 'pending';
}

async function askForge({ store, forge }: SyncPorts, run: Run, watch: Watch): Promise<PullRequestReport> {
  const { run_id } = run;
  const { forge: name, owner, repo } = run.request;
  const number = openedPullRequest(run)!;
  const report = (
    { pull_request, renamed }: Run,
    news = false,
    problem: PullRequestReport['problem'] = null,
  ): PullRequestReport => {
    const { state = null, checks = null, url = null, ended_at = null } = pull_request ?? {};
    const before = run.pull_request?.state ?? null;
    const { owner, repo } = renamed ?? run.request;
    return { run_id, forge: name, owner, repo, number, before, state, checks, url, ended_at, news, problem };
  };
  if (isSettled(run)) return report(run);
  const message = `asking ${name} about pull request ${owner}/${repo}#${number}`;
  watch.progress({ step: 'sync', state: 'info', message });
  try {
    const repository = await forge(name).repository(run.plan!.target, watch.signal);
    const found = await forge(name).pullRequest(repository, number, watch.signal);
    let news = false;
    const after = await store.append(run_id, (now) => {
      const seen = openedPullRequest(now) === number ? seenEvents(now, found) : [];
      const events = [...nameEvents(now, repository), ...seen];
      news = events.length > 0;
      return events;
    });
    if (news) await store.writeViews(run_id);
    return report(after, news);
  } catch (error) {
    watch.signal.throwIfAborted();
    const gone = error instanceof NotFound;
    return report(run, false, { code: codeOf(error), message: messageOf(error), gone });
  }
}

/** The event for the state on the forge; none where that is known. */
function seenEvents(run: Run, found: PullRequestOutcome): NewEvent[] {
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

/** A few at a time, in their order. */
async function inTurns<A, B>(items: readonly A[], work: (item: A) => Promise<B>): Promise<B[]> {
  const results: B[] = [];
  for (let start = 0; start < items.length; start += concurrency) {
    results.push(...(await Promise.all(items.slice(start, start + concurrency).map(work))));
  }
  return results;
}
