import { setTimeout } from 'node:timers/promises';
import type { BusCall } from '#kit/bus/bus.ts';
import type { PlanIssueRequest, PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import type { PlanBody } from '#kit/contracts/plan.ts';
import { Accepted, RunDetail } from '#kit/contracts/run.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { sha256 } from '#kit/digest.ts';
import { type CoreError, codeOf, isRetryable, TimedOut } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';

interface PlanningOptions {
  readonly agentd: Pick<HttpClient, 'get' | 'post'>;
  /** Milliseconds that a planning may take in all, as configured now. */
  readonly withinMs: () => number;
  /** Milliseconds for which the daemon may be away in between: it may be restarting. */
  readonly awayMs?: number;
}

type Joined = Promise<PlanIssueResult>;

const firstPollMs = 100;
const maxPollMs = 1_000;

/** Plannings at work, by event. All state is the daemon's: a worker that dies leaves nothing to clean up. */
export class Planning {
  readonly #options: Required<PlanningOptions>;
  readonly #atWork = new Map<string, Joined>();

  constructor(options: PlanningOptions) {
    this.#options = { awayMs: 30_000, ...options };
  }

  /** The same request at the same time is one. @throws what the daemon says of the request */
  async plan(request: PlanIssueRequest, call: BusCall): Promise<PlanIssueResult> {
    const asking = JSON.stringify(request);
    const same = this.#atWork.get(asking);
    if (same !== undefined) {
      const result = await same;
      return result.ok ? { ...result, created: false } : result;
    }
    const work = this.#plan(request, call).finally(() => this.#atWork.delete(asking));
    this.#atWork.set(asking, work);
    return work;
  }

  async #plan(request: PlanIssueRequest, call: BusCall): Joined {
    const { run, created } = await plannedRun(this.#options, request, call);
    if (run.plan !== null) {
      const { run_id, status, actions } = run;
      return { ok: true, run_id, status, created, actions: actions.length };
    }
    return { ...failureOfRun(run), run_id: run.run_id };
  }
}

/** One planning from its request to its end. */
async function plannedRun(
  { agentd, withinMs: allowedMs, awayMs }: Required<PlanningOptions>,
  request: PlanIssueRequest,
  { signal, traceparent }: BusCall,
): Promise<{ readonly run: RunDetail; readonly created: boolean }> {
  const { owner, repo, number, task, forge, role, planner, keep, anyway, trigger, event_actor, event_id } =
    request;
  const withinMs = allowedMs();
  const end = performance.now() + withinMs;
  let awaySince: number | null = null;

  /** Makes the run, or joins it: the daemon takes up again what was cut off. */
  async function ask(): Promise<Accepted> {
    const body: PlanBody = {
      owner,
      repo,
      number,
      task: task ?? undefined,
      note: undefined,
      forge: forge ?? undefined,
      role: role ?? undefined,
      planner: planner ?? undefined,
      dry_run: undefined,
      keep: keep ?? undefined,
      anyway: anyway ?? undefined,
      trigger: trigger ?? { kind: 'bus', event_id, what: undefined, actor: undefined },
      event_actor: event_actor ?? undefined,
    };
    const headers = {
      'idempotency-key': `event-${sha256(event_id)}`,
      ...(traceparent === null ? {} : { traceparent }),
    };
    crashPoint('worker.before_request');
    const answer = await agentd.post('/v1/runs', body, Accepted, { signal, headers });
    crashPoint('worker.requested');
    return answer;
  }

  /** Until nobody plans it any more. */
  async function watch(runId: string): Promise<RunDetail> {
    for (let polls = 0; ; polls++) {
      crashPoint('worker.waiting');
      const run = await agentd.get(`/v1/runs/${runId}`, RunDetail, { signal });
      awaySince = null;
      if (run.status !== 'planning') {
        crashPoint('worker.planned');
        return run;
      }
      await pause(polls);
    }
  }

  /** null where the daemon is away or busy, and may not be a little later. */
  async function patiently<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      const result = await work();
      awaySince = null;
      return result;
    } catch (error) {
      const now = performance.now();
      if (!isRetryable(error) || now >= end) throw error;
      if (isForgeError(error)) throw error;
      awaySince ??= now;
      if (now - awaySince > awayMs) throw error;
      return null;
    }
  }

  async function pause(polls: number): Promise<void> {
    if (performance.now() >= end) {
      throw new TimedOut(
        'planning_unfinished',
        `the planning for event ${event_id} has not ended after ${Math.round(withinMs / 1000)} s; it goes on, and the same event joins it`,
      );
    }
    const wait = Math.min(maxPollMs, firstPollMs * 1.5 ** Math.min(polls, 20));
    await setTimeout(wait, undefined, { signal });
  }

  let created = false;
  for (let polls = 0; ; polls++) {
    const asked = await patiently(ask);
    if (asked !== null) {
      created ||= asked.created === true;
      const run = await patiently(() => watch(asked.run_id));
      if (run !== null && run.status !== 'interrupted') return { run, created };
    }
    await pause(polls);
  }
}

/** The daemon is there and waited for the forge already: whoever asks here has others to plan meanwhile. */
function isForgeError(error: CoreError): boolean {
  return codeOf(error).startsWith('forge_');
}

/** Of a run without a plan that nobody plans any more. */
function failureOfRun({ status, failure }: RunDetail): Extract<PlanIssueResult, { readonly ok: false }> {
  const retryable = failure?.retryable ?? false;
  const code = failure?.code ?? `run_${status}`;
  const message = failure?.message ?? `the run is ${status}`;
  return {
    ok: false,
    error: { code, message, status: retryable ? 503 : 422, retryable, errors: undefined, hint: undefined },
    run_id: undefined,
  };
}
