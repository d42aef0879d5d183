import { setTimeout } from 'node:timers/promises';
import { Conflict, codeOf, Interrupted, messageOf, Unavailable } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ProgressUpdate, Watch } from '../agent.ts';

interface Job {
  readonly what: string;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** What a watcher of a run is told: progress of the work here, or null when its record may have changed. */
export type RunWatcher = (update: ProgressUpdate | null) => void;

const mostJobs = 16;
/** An answer waits so long, in milliseconds, for earlier work to end, and for its own to begin or to be refused. */
const beginningMs = 1_500;

/** Work that goes on after its request was answered. One job for each run; all end with the daemon. */
export class BackgroundWork {
  readonly #jobs = new Map<string, Job>();
  readonly #watchers = new Map<string, Set<RunWatcher>>();
  readonly #ending = new AbortController();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Aborted when the daemon ends. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  isAtWork(runId: string): boolean {
    return this.#jobs.has(runId);
  }

  /** @throws Unavailable (`too_busy`) */
  checkRoom(): void {
    if (this.#ending.signal.aborted)
      throw new Unavailable('ending', 'the daemon is ending', { retryAfter: 5 });
    if (this.#jobs.size < mostJobs) return;
    throw new Unavailable('too_busy', `${mostJobs} runs are at work here, the limit`, { retryAfter: 30 });
  }

  /**
   * Starts work on a run. Resolves when it has begun: shown its first progress, ended, or lasted a moment.
   * @throws what the work throws before that, Conflict (`run_busy`), Unavailable (`too_busy`)
   */
  async start(runId: string, what: string, work: (watch: Watch) => Promise<unknown>): Promise<void> {
    if (this.#jobs.has(runId)) await this.#letEnd(runId);
    const busy = this.#jobs.get(runId);
    if (busy !== undefined) {
      throw new Conflict('run_busy', `run ${runId} is at work already: ${busy.what}`, {
        hint: `Follow GET /v1/runs/${runId}/events, or cancel it.`,
      });
    }
    this.checkRoom();
    const stop = new AbortController();
    let begun = () => {};
    const beginning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const watch: Watch = {
      signal: AbortSignal.any([stop.signal, this.#ending.signal]),
      progress: (update) => {
        begun();
        this.#tell(runId, update);
      },
    };
    const result = work(watch);
    const done = result.then(
      () => this.#ended(runId, what, null),
      (error: unknown) => this.#ended(runId, what, error),
    );
    this.#jobs.set(runId, { what, stop, done });
    const waited = new AbortController();
    const moment = setTimeout(beginningMs, undefined, { signal: waited.signal, ref: false }).catch(() => {});
    try {
      await Promise.race([beginning, moment, result]);
    } finally {
      waited.abort();
    }
  }

  /** Who saw the last event of some work asks for the next at once; that work ends a moment later. */
  async #letEnd(runId: string): Promise<void> {
    const job = this.#jobs.get(runId);
    if (job !== undefined) await Promise.race([job.done, setTimeout(beginningMs, undefined, { ref: false })]);
  }

  /** Stops the work on a run, if there is any here. */
  stop(runId: string): void {
    this.#jobs.get(runId)?.stop.abort(new Interrupted('cancelled', `run ${runId} was cancelled`));
  }

  watch(runId: string, watcher: RunWatcher): () => void {
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(runId) === watchers) this.#watchers.delete(runId);
    };
  }

  /** Says that the record of a run has changed. */
  changed(runId: string): void {
    this.#tell(runId, null);
  }

  /** Stops all work and waits for it; what is durable can be resumed. */
  async close(): Promise<void> {
    this.#ending.abort(new Interrupted('interrupted', 'the daemon ends'));
    await Promise.all([...this.#jobs.values()].map(({ done }) => done));
  }

  #tell(runId: string, update: ProgressUpdate | null): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher(update);
  }

  #ended(runId: string, what: string, error: unknown): void {
    this.#jobs.delete(runId);
    if (error === null) this.#logger.info(`${what} ended`, { run_id: runId });
    else
      this.#logger.warn(`${what} ended: ${messageOf(error)}`, { run_id: runId, code: codeOf(error), error });
    this.#tell(runId, null);
  }
}
