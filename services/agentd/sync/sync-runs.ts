import { codeOf, messageOf, NotFound } from '#kit/errors.ts';
import { openedPullRequest } from '../actions/open-pull-request.ts';
import type { DeliveryReport, PullRequestReport, SyncReport, SyncRequest, Watch } from '../agent.ts';
import type { RunDelivery } from '../outbox/run-delivery.ts';
import type { Forge } from '../ports/forge.ts';
import type { FileRunStore } from '../runs/file-run-store.ts';
import type { Run, RunStatus } from '../runs/run.ts';
import type { RunPage } from '../runs/run-store.ts';
import { seenEvents } from './pull-request-events.ts';

export interface SyncPorts {
  readonly store: FileRunStore;
  readonly forge: (name: string) => Forge;
  /** null where no context service is configured. */
  readonly delivery: RunDelivery | null;
}

/** Runs in these states cannot have a pull request. */
const without: readonly RunStatus[] = ['planning', 'awaiting_approval', 'rejected'];
/** Requests to forges at once. */
const atOnce = 4;

/** Learns from the forges what became of pull requests, and tells core-context what it does not know yet. */
export async function syncRuns(ports: SyncPorts, request: SyncRequest, watch: Watch): Promise<SyncReport> {
  const runs = await runsWithPullRequest(ports.store, request, watch.signal);
  const pull_requests = await inTurns(runs, (run) => askForge(ports, run, watch));
  if (request.full === true) ports.delivery?.forget();
  if (ports.delivery !== null)
    watch.progress({ step: 'sync', state: 'info', message: `telling ${ports.delivery.contextName}` });
  const context: DeliveryReport | null =
    ports.delivery === null ? null : await ports.delivery.deliverPending(watch.signal);
  return { pull_requests, context };
}

async function runsWithPullRequest(
  store: FileRunStore,
  { repository }: SyncRequest,
  signal: AbortSignal,
): Promise<Run[]> {
  const found: Run[] = [];
  let cursor: string | null = null;
  do {
    signal.throwIfAborted();
    const query = { limit: 100, ...repository, ...(cursor === null ? {} : { cursor }) };
    const page: RunPage = await store.list(query);
    for (const { run_id, status } of page.runs) {
      if (without.includes(status)) continue;
      const run = await store.read(run_id);
      if (openedPullRequest(run) !== null) found.push(run);
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

/** What was merged stays merged, and its checks were seen then. */
function isSettled({ pull_request }: Run): boolean {
  return pull_request?.state === 'merged' && pull_request.checks !== 'pending';
}

async function askForge({ store, forge }: SyncPorts, run: Run, watch: Watch): Promise<PullRequestReport> {
  const { forge: name, owner, repo } = run.request;
  const number = openedPullRequest(run)!;
  const common = {
    run_id: run.run_id,
    forge: name,
    owner,
    repo,
    number,
    before: run.pull_request?.state ?? null,
  };
  if (isSettled(run)) return { ...common, ...stateOf(run), news: false, problem: null };
  watch.progress({
    step: 'sync',
    state: 'info',
    message: `asking ${name} about pull request ${owner}/${repo}#${number}`,
  });
  try {
    const found = await forge(name).pullRequest({ owner, repo }, number, watch.signal);
    let news = false;
    const after = await store.append(run.run_id, (now) => {
      const events = openedPullRequest(now) === number ? seenEvents(now, found) : [];
      news = events.length > 0;
      return events;
    });
    if (news) await store.writeViews(run.run_id);
    return { ...common, ...stateOf(after), news, problem: null };
  } catch (error) {
    watch.signal.throwIfAborted();
    const gone = error instanceof NotFound;
    return {
      ...common,
      ...stateOf(run),
      news: false,
      problem: { code: codeOf(error), message: messageOf(error), gone },
    };
  }
}

function stateOf({ pull_request }: Run): Pick<PullRequestReport, 'state' | 'checks' | 'url' | 'ended_at'> {
  return {
    state: pull_request?.state ?? null,
    checks: pull_request?.checks ?? null,
    url: pull_request?.url ?? null,
    ended_at: pull_request?.ended_at ?? null,
  };
}

/** A few at a time, in their order. */
async function inTurns<A, B>(items: readonly A[], work: (item: A) => Promise<B>): Promise<B[]> {
  const results: B[] = [];
  for (let start = 0; start < items.length; start += atOnce) {
    results.push(...(await Promise.all(items.slice(start, start + atOnce).map(work))));
  }
  return results;
}
