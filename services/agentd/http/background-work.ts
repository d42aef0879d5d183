import { EventEmitter } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { guarded } from '#kit/callbacks.ts';
import { Conflict, codeOf, Interrupted, messageOf, Unavailable } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { ProgressUpdate, Watch } from '../agent.ts';

interface Job {
  readonly what: string;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** Called with progress of the work here, or null when the record of the run may have changed. */
export type RunWatcher = (update: ProgressUpdate | null) => void;

const maxJobs = 16;
/** Milliseconds that an answer waits for earlier work to end, and for its own to start or to be refused. */
const startMs = 1_500;

/** Work that goes on after its request was answered. One job for each run; all end with the daemon. */
export class BackgroundWork {
  readonly #jobs = new Map<string, Job>();
  /** Emits the updates of each run under its id. */
  readonly #updates = new EventEmitter().setMaxListeners(0);
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
    if (this.#jobs.size < maxJobs) return;
    throw new Unavailable('too_busy', `${maxJobs} runs are at work here, the limit`, { retryAfter: 30 });
  }

  /**
   * Starts work on a run. Resolves when it has started: shown its first progress, ended, or lasted a moment.
   * @throws what the work throws before that, Conflict (`run_busy`), Unavailable (`too_busy`)
   */
  async start(runId: string, what: string, work: (watch: Watch) => Promise<unknown>): Promise<void> {
    // A client that saw the last event of some work asks for the next at once; that work ends a moment later.
    const earlier = this.#jobs.get(runId);
    if (earlier !== undefined) await firstOf(earlier.done);
    const busy = this.#jobs.get(runId);
    if (busy !== undefined) {
      throw new Conflict('run_busy', `run ${runId} is at work already: ${busy.what}`, {
        hint: `Follow GET /v1/runs/${runId}/events, or cancel it.`,
      });
    }
    this.checkRoom();
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    const result = work({
      signal: AbortSignal.any([stop.signal, this.#ending.signal]),
      progress: (update) => {
        started.resolve();
        this.#updates.emit(runId, update);
      },
    });
    const done = result.then(
      () => this.#ended(runId, what, null),
      (error: unknown) => this.#ended(runId, what, error),
    );
    this.#jobs.set(runId, { what, stop, done });
    await firstOf(started.promise, result);
  }

  /** Stops the work on a run, if there is any here. */
  stop(runId: string): void {
    this.#jobs.get(runId)?.stop.abort(new Interrupted('cancelled', `run ${runId} was cancelled`));
  }

  /** @returns ends the watch */
  watch(runId: string, watcher: RunWatcher): () => void {
    const look = guarded('background work', watcher);
    this.#updates.on(runId, look);
    return () => void this.#updates.off(runId, look);
  }

  /** Makes watchers read the record of a run again. */
  changed(runId: string): void {
    this.#updates.emit(runId, null);
  }

  /** Stops all work and waits for it; what is durable can be resumed. */
  async close(): Promise<void> {
    this.#ending.abort(new Interrupted('interrupted', 'the daemon ends'));
    await Promise.all([...this.#jobs.values()].map(({ done }) => done));
  }

  #ended(runId: string, what: string, error: unknown): void {
    this.#jobs.delete(runId);
    if (error === null) this.#logger.info(`${what} ended`, { run_id: runId });
    else
      this.#logger.warn(`${what} ended: ${messageOf(error)}`, { run_id: runId, code: codeOf(error), error });
    this.changed(runId);
  }
}

/** The first of these, or a moment if none settles in it. */
async function firstOf(...settling: Promise<unknown>[]): Promise<void> {
  const waited = new AbortController();
  const moment = setTimeout(startMs, undefined, { signal: waited.signal, ref: false }).catch(() => {});
  try {
    await Promise.race([...settling, moment]);
  } finally {
    waited.abort();
  }
}
