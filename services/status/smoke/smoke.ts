import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type * as t from 'io-ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { EventView, IngressReply, ProcessReply } from '#kit/contracts/bridge/events.ts';
import { RunDetail } from '#kit/contracts/run.ts';
import type { SmokeReport } from '#kit/contracts/status.ts';
import { counted } from '#kit/counted.ts';
import type { Environment } from '#kit/environment.ts';
import { codeOf, Failed, messageOf, TimedOut } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import type { Places } from '../places.ts';
import type { TokenShower } from '../token-shower.ts';
import { demoIssue, issueTitle } from './demo-issue.ts';
import { knownRepositories, printDifferences, printRepository } from './repository-print.ts';

export interface SmokeOptions {
  readonly folders: Folders;
  readonly environment: Environment;
  readonly places: Places;
  readonly shower: TokenShower;
  /** Milliseconds for all of it. */
  readonly timeoutMs?: number;
}

type Steps = SmokeReport['steps'];

/**
 * One event of a dashboard through bridge, bus and worker to a plan, of an issue on a forge of its own. Nothing but the event and
 * the run stays; refs and trees of every repository that is known here are compared.
 */
export async function runSmoke(options: SmokeOptions): Promise<SmokeReport> {
  const { timeoutMs = 120_000 } = options;
  const signal = AbortSignal.timeout(timeoutMs);
  const steps: Steps = [];
  const report = { event_id: `core-smoke-${randomUUID()}`, run_id: null as string | null };
  let repositories: string[] = [];
  let changed: string[] = [];
  try {
    const client = (service: 'core-bridge' | 'core-agentd', baseUrl: string) => {
      const token = () => options.shower.mustText(service, baseUrl);
      token();
      return createHttpClient({ baseUrl, token, timeoutMs });
    };
    const bridge = client('core-bridge', options.places.bridge);
    const agentd = client('core-agentd', options.places.agentd);
    try {
      const issue = await step(steps, 'demo issue', async () => {
        const made = await demoIssue(options.folders, signal);
        return [
          made,
          `${smokeForge.owner}/${smokeForge.repo}#${made.number} on the forge ${smokeForge.name}`,
        ];
      });
      repositories = knownRepositories(options.folders, options.environment);
      const before = await printAll(repositories, signal);
      await step(steps, 'event to the bridge', () => post(bridge, report.event_id, issue.number, signal));
      report.run_id = await step(steps, 'bridge, bus, worker, plan-issue', () =>
        planEvent(bridge, report.event_id, signal),
      );
      const { run_id } = report;
      await step(steps, 'durable run', () => look(agentd, run_id, signal));
      changed = await step(steps, 'repositories as before', async () => {
        const after = await printAll(repositories, signal);
        const found = repositories.flatMap((path) =>
          printDifferences(path, before.get(path)!, after.get(path)!),
        );
        if (found.length > 0) throw new ChangedRepositories(found);
        return [
          found,
          `refs and trees of ${counted(repositories.length, 'repository', 'repositories')} compared`,
        ];
      });
    } finally {
      await Promise.all([bridge.close(), agentd.close()]);
    }
  } catch (error) {
    if (error instanceof ChangedRepositories) changed = [...error.changed];
    else if (steps.every(({ ok }) => ok))
      steps.push({ step: 'preparation', ok: false, detail: messageOf(error), took_ms: 0 });
  }
  return { ok: steps.every(({ ok }) => ok), ...report, steps, repositories, changed };
}

class ChangedRepositories extends Failed {
  readonly changed: readonly string[];

  constructor(changed: readonly string[]) {
    super('smoke_repository_changed', `changed while the smoke run was under way: ${changed.join('; ')}`);
    this.changed = changed;
  }
}

/** Does one step and writes down how it went. @throws what the step throws, and TimedOut for a limit that is over */
async function step<T>(
  steps: Steps,
  name: string,
  work: () => Promise<readonly [result: T, detail: string]>,
): Promise<T> {
  const started = performance.now();
  const took_ms = () => Math.round(performance.now() - started);
  try {
    const [result, detail] = await work();
    steps.push({ step: name, ok: true, detail, took_ms: took_ms() });
    return result;
  } catch (error) {
    steps.push({ step: name, ok: false, detail: messageOf(error), took_ms: took_ms() });
    throw error;
  }
}

async function printAll(paths: readonly string[], signal: AbortSignal) {
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await printRepository(path, signal)] as const)),
  );
}

async function post(
  bridge: HttpClient,
  event_id: string,
  number: number,
  signal: AbortSignal,
): Promise<readonly [null, string]> {
  const { name, owner, repo } = smokeForge;
  const event = {
    event_id,
    kind: 'issue.status_changed',
    occurred_at: new Date().toISOString(),
    issue: { id: 'core-smoke', title: issueTitle, status: 'ready', forge: { name, owner, repo, number } },
    actor: 'core-status',
  };
  const reply = await bridge.post('/v1/ingress/dashboard-issue', event, IngressReply, { signal });
  if (reply.state === 'skipped' || reply.state === 'dead')
    throw new Failed(
      'smoke_event_refused',
      `the bridge did not take it: ${reply.reason?.message ?? reply.state}`,
    );
  return [null, `${event_id} is ${reply.state}`];
}

async function look(
  agentd: HttpClient,
  run_id: string,
  signal: AbortSignal,
): Promise<readonly [null, string]> {
  let run = await agentd.get(`/v1/runs/${run_id}`, RunDetail, { signal });
  while (run.status === 'planning') {
    await pause(signal);
    run = await agentd.get(`/v1/runs/${run_id}`, RunDetail, { signal });
  }
  const { status, actions, failure } = run;
  if (status !== 'awaiting_approval' || actions.length === 0) {
    const why = failure === null ? '' : `: ${failure.message}`;
    throw new Failed('smoke_run_failed', `the run is ${status} with ${actions.length} actions${why}`);
  }
  return [null, `${actions.length} proposed actions await approval`];
}

/** Processes this event alone; where the bridge is at it by itself, waits for it. */
export async function planEvent(
  bridge: HttpClient,
  event_id: string,
  signal: AbortSignal,
): Promise<readonly [string, string]> {
  let event = (await takeUp(bridge, event_id, signal)) ?? (await eventOf(bridge, event_id, signal));
  while (event.state === 'processing' || (event.state === 'pending' && event.attempts === 0)) {
    await pause(signal);
    const again = event.state === 'pending' ? await takeUp(bridge, event_id, signal) : null;
    event = again ?? (await eventOf(bridge, event_id, signal));
  }
  if (event.state === 'done' && event.run_id !== null)
    return [event.run_id, `the event is done, its run is ${event.run_id}`];
  const why = event.reason === null ? '' : `: ${event.reason.message} [${event.reason.code}]`;
  throw new Failed('smoke_event_failed', `the event is ${event.state}${why}`);
}

/** @returns null where the bridge is at it already, or at another event of the issue */
async function takeUp(
  bridge: HttpClient,
  event_id: string,
  signal: AbortSignal,
): Promise<t.TypeOf<typeof EventView> | null> {
  try {
    const answered = await bridge.post('/v1/events/process-next', { event_id }, ProcessReply, { signal });
    return answered.event;
  } catch (error) {
    if (codeOf(error) === 'event_not_pending') return null;
    throw error;
  }
}

function eventOf(
  bridge: HttpClient,
  event_id: string,
  signal: AbortSignal,
): Promise<t.TypeOf<typeof EventView>> {
  return bridge.get(`/v1/events/${encodeURIComponent(event_id)}`, EventView, { signal });
}

/** A moment between two looks. @throws TimedOut (`smoke_timeout`) when the signal is aborted */
export async function pause(signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(100, undefined, { signal });
  } catch (cause) {
    throw new TimedOut('smoke_timeout', 'it did not end in time', { cause });
  }
}
