import { setTimeout } from 'node:timers/promises';
import type { RefreshRequest } from '#kit/contracts/context/refresh.ts';
import type { RefreshStatus } from '#kit/contracts/context/status.ts';
import { codeOf, Interrupted, messageOf, NotFound, Unavailable } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Ingestion } from '../ingest/ingestion.ts';

type Progress = NonNullable<RefreshStatus['progress']>;

export interface RefreshParts {
  readonly ingestion: Ingestion;
  /** Makes the indexes and projections again; resolves with their names. */
  readonly rebuild: (progress: (now: Progress) => void, signal: AbortSignal) => Promise<string[]>;
  /** Done after something was read. */
  readonly afterwards: () => Promise<unknown>;
  readonly logger: Logger;
}

interface Job {
  status: RefreshStatus;
  readonly end: Promise<RefreshStatus>;
}

const maxKept = 20;
const maxRunning = 20;
/** So long, in milliseconds, an answer that does not wait for the end waits for a refusal. */
const minWaitMs = 1_000;

/** Refreshes under way and the last ones that are over. */
export class RefreshJobs {
  readonly #parts: RefreshParts;
  readonly #jobs = new Map<string, Job>();
  readonly #ending = new AbortController();
  #next = 1;

  constructor(parts: RefreshParts) {
    this.#parts = parts;
  }

  /**
   * Resolves at the end, or, where the request does not wait, when it has begun.
   * @throws what was wrong with the request as a whole
   */
  async refresh(request: Partial<RefreshRequest>, by: string): Promise<RefreshStatus> {
    this.#checkRoom();
    const job = this.#start(request, by);
    if (request.wait !== false) return job.end;
    await Promise.race([job.end, setTimeout(minWaitMs, undefined, { ref: false })]);
    return job.status;
  }

  /** @param id of one; left out, the latest @throws NotFound (`refresh_not_found`) */
  status(id: string | undefined): RefreshStatus {
    const job = id === undefined ? [...this.#jobs.values()].at(-1) : this.#jobs.get(id);
    if (job !== undefined) return job.status;
    const known = [...this.#jobs.keys()].join(', ') || 'none';
    const which =
      id === undefined ? 'nothing was refreshed yet' : `there is no refresh ${JSON.stringify(id)}`;
    throw new NotFound('refresh_not_found', `${which}; known are ${known}`);
  }

  /** The latest outcome of each repository that was read since the start. */
  outcomes(): ReadonlyMap<string, RefreshStatus['repositories'][number]> {
    const all = [...this.#jobs.values()].flatMap(({ status }) => status.repositories);
    return new Map(all.map((one) => [one.repository, one]));
  }

  running(): RefreshStatus[] {
    return [...this.#jobs.values()].map(({ status }) => status).filter(({ state }) => state === 'running');
  }

  /** Stops what is under way; the next refresh does what is left. */
  async close(): Promise<void> {
    this.#ending.abort(new Interrupted('interrupted', 'core-context is ending'));
    await Promise.allSettled([...this.#jobs.values()].map(({ end }) => end));
  }

  #start(request: Partial<RefreshRequest>, by: string): Job {
    const id = `refresh_${this.#next++}`;
    const status: RefreshStatus = {
      id,
      state: 'running',
      by,
      started_at: new Date().toISOString(),
      finished_at: null,
      progress: null,
      repositories: [],
      rebuilt: [],
      error: null,
    };
    const work = Promise.resolve().then(() => this.#work(id, request));
    const end = work.then(
      (done) => this.#finish(id, { state: 'done', ...done }),
      (error) => {
        this.#finish(id, { state: 'failed', error: { code: codeOf(error), detail: messageOf(error) } });
        throw error;
      },
    );
    end.catch((error) => this.#parts.logger.warn(`refresh ended: ${messageOf(error)}`, { id, error }));
    const job = { status, end };
    this.#jobs.set(id, job);
    this.#removeOld();
    return job;
  }

  async #work(
    id: string,
    request: Partial<RefreshRequest>,
  ): Promise<Pick<RefreshStatus, 'repositories' | 'rebuilt'>> {
    const { ingestion, rebuild, afterwards } = this.#parts;
    const { signal } = this.#ending;
    const report = (progress: Progress) => this.#change(id, { progress });
    const rebuilt = request.rebuild === true ? await rebuild(report, signal) : [];
    if (request.rebuild === true && request.repositories === undefined && request.full !== true)
      return { repositories: [], rebuilt };
    const { repositories: wanted, full } = request;
    const repositories = await ingestion.refresh(
      { repositories: wanted, full },
      {
        signal,
        progress: ({ repository, done, total, path }) => report({ what: repository, done, total, path }),
      },
    );
    await afterwards();
    return { repositories, rebuilt };
  }

  #finish(id: string, change: Partial<RefreshStatus>): RefreshStatus {
    return this.#change(id, { ...change, progress: null, finished_at: new Date().toISOString() });
  }

  #change(id: string, change: Partial<RefreshStatus>): RefreshStatus {
    const job = this.#jobs.get(id)!;
    job.status = { ...job.status, ...change };
    return job.status;
  }

  #checkRoom(): void {
    if (this.#ending.signal.aborted)
      throw new Unavailable('ending', 'core-context is ending', { retryAfter: 5 });
    if (this.running().length < maxRunning) return;
    throw new Unavailable('too_busy', `${maxRunning} refreshes are under way, the limit`, {
      retryAfter: 30,
    });
  }

  #removeOld(): void {
    for (const [id, { status }] of this.#jobs) {
      if (this.#jobs.size <= maxKept) return;
      if (status.state !== 'running') this.#jobs.delete(id);
    }
  }
}
