import { setTimeout } from 'node:timers/promises';
import type { BusCall } from '#kit/bus/bus.ts';
import type { PlanIssueRequest, PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import type { PlanBody } from '#kit/contracts/plan.ts';
import { Accepted, RunDetail } from '#kit/contracts/run.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { sha256 } from '#kit/digest.ts';
import { CoreError, codeOf, TimedOut } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';

interface PlanningOptions {
  readonly agentd: Pick<HttpClient, 'get' | 'post'>;
  /** Milliseconds that a planning may take in all. */
  readonly withinMs: number;
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
  async plan(request: PlanIssueRequest, { signal, traceparent }: BusCall): Promise<PlanIssueResult> {
    const asking = JSON.stringify(request);
    const same = this.#atWork.get(asking);
    if (same !== undefined) {
      const result = await same;
      return result.ok ? { ...result, created: false } : result;
    }
    const work = this.#plan(request, signal, traceparent).finally(() => this.#atWork.delete(asking));
    this.#atWork.set(asking, work);
    return work;
  }

  async #plan(request: PlanIssueRequest, signal: AbortSignal, traceparent: string | null): Joined {
    const attempt = new Attempt(this.#options, request, signal, traceparent);
    const { run, created } = await attempt.planned();
    if (run.plan !== null) {
      const { run_id, status, actions } = run;
      return { ok: true, run_id, status, created, actions: actions.length };
    }
    return { ...failureOfRun(run), run_id: run.run_id };
  }
}

class Attempt {
  readonly #options: Required<PlanningOptions>;
  readonly #request: PlanIssueRequest;
  readonly #signal: AbortSignal;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #end: number;
  #awaySince: number | null = null;

  constructor(
    options: Required<PlanningOptions>,
    request: PlanIssueRequest,
    signal: AbortSignal,
    traceparent: string | null,
  ) {
    this.#options = options;
    this.#request = request;
    this.#signal = signal;
    this.#headers = {
      'idempotency-key': `event-${sha256(request.event_id)}`,
      ...(traceparent === null ? {} : { traceparent }),
    };
    this.#end = performance.now() + options.withinMs;
  }

  async planned(): Promise<{ readonly run: RunDetail; readonly created: boolean }> {
    let created = false;
    for (let polls = 0; ; polls++) {
      const asked = await this.#patiently(() => this.#ask());
      if (asked !== null) {
        created ||= asked.created === true;
        const run = await this.#patiently(() => this.#watch(asked.run_id));
        if (run !== null && run.status !== 'interrupted') return { run, created };
      }
      await this.#pause(polls);
    }
  }

  /** Makes the run, or joins it: the daemon takes up again what was cut off. */
  async #ask(): Promise<Accepted> {
    const { owner, repo, number, forge, role, keep, anyway, trigger, event_id } = this.#request;
    const body: PlanBody = {
      owner,
      repo,
      number,
      forge: forge ?? undefined,
      role: role ?? undefined,
      planner: undefined,
      dry_run: undefined,
      keep: keep ?? undefined,
      anyway: anyway ?? undefined,
      trigger: trigger ?? { kind: 'bus', event_id, what: undefined, actor: undefined },
    };
    crashPoint('worker.before_request');
    const answer = await this.#options.agentd.post('/v1/runs', body, Accepted, {
      signal: this.#signal,
      headers: this.#headers,
    });
    crashPoint('worker.requested');
    return answer;
  }

  /** Until nobody plans it any more. */
  async #watch(runId: string): Promise<RunDetail> {
    for (let polls = 0; ; polls++) {
      crashPoint('worker.waiting');
      const run = await this.#options.agentd.get(`/v1/runs/${runId}`, RunDetail, { signal: this.#signal });
      this.#awaySince = null;
      if (run.status !== 'planning') {
        crashPoint('worker.planned');
        return run;
      }
      await this.#pause(polls);
    }
  }

  /** null where the daemon is away or busy, and may not be a little later. */
  async #patiently<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      const result = await work();
      this.#awaySince = null;
      return result;
    } catch (error) {
      const now = performance.now();
      if (!(error instanceof CoreError) || !error.retryable || now >= this.#end) throw error;
      if (isForgeError(error)) throw error;
      this.#awaySince ??= now;
      if (now - this.#awaySince > this.#options.awayMs) throw error;
      return null;
    }
  }

  async #pause(polls: number): Promise<void> {
    if (performance.now() >= this.#end) {
      const { event_id } = this.#request;
      const seconds = Math.round(this.#options.withinMs / 1000);
      throw new TimedOut(
        'planning_unfinished',
        `the planning for event ${event_id} has not ended after ${seconds} s; it goes on, and the same event joins it`,
      );
    }
    const wait = Math.min(maxPollMs, firstPollMs * 1.5 ** Math.min(polls, 20));
    await setTimeout(wait, undefined, { signal: this.#signal });
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
