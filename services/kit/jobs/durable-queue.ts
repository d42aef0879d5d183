import type { Columns, DatabaseJobs, Due, JobClaim, JobRow } from './database-jobs.ts';

/** When a job that failed is tried again, and when it is given up. */
export interface RetryPolicy {
  /** Failures after which a job is dead. */
  readonly attempts: number;
  /** Seconds until the second attempt; each further one waits six times as long. */
  readonly first: number;
  /** The longest wait, in seconds. */
  readonly max: number;
}

export interface JobReason {
  readonly code: string;
  readonly message: string;
}

/**
 * A durable queue. A job that is claimed is given to nobody else until its end is recorded or its lease is over, and whoever held a
 * lease that is over ends nothing: every job is processed at least once, and ended once.
 */
export class DurableQueue {
  readonly #jobs: DatabaseJobs;
  readonly #retry: RetryPolicy;

  constructor(jobs: DatabaseJobs, retry: RetryPolicy) {
    this.#jobs = jobs;
    this.#retry = retry;
  }

  /** As `DatabaseJobs.take`. @returns null where none is due and ready */
  claim(
    leaseMs: number,
    where: Columns = {},
    early = false,
  ): Promise<{ claim: JobClaim; row: JobRow } | null> {
    return this.#jobs.take(leaseMs, where, early);
  }

  /** Each ends a claim; false where it had been lost meanwhile, and nothing was changed. */
  done(claim: JobClaim, columns: Columns = {}): Promise<boolean> {
    const ended = { state: 'done', due_at: null, reason_code: null, reason: null, ...columns };
    return this.#jobs.end(claim, ended);
  }

  /** There was nothing to do. */
  skipped(claim: JobClaim, reason: JobReason): Promise<boolean> {
    return this.#jobs.end(claim, { state: 'skipped', due_at: null, ...failure(claim, reason) });
  }

  /** Not tried again, unless somebody revives it. */
  dead(claim: JobClaim, reason: JobReason, columns: Columns = {}): Promise<boolean> {
    return this.#jobs.end(claim, { state: 'dead', due_at: null, ...failure(claim, reason), ...columns });
  }

  /** Pending again after the wait of the policy, or dead after the last attempt. @param minSeconds a longer wait that was asked for */
  failed(claim: JobClaim, reason: JobReason, minSeconds = 0): Promise<boolean> {
    if (this.isLast(claim)) return this.dead(claim, reason);
    const seconds = Math.max(minSeconds, retrySeconds(claim.attempts + 1, this.#retry));
    return this.#jobs.end(claim, { state: 'pending', ...failure(claim, reason) }, seconds * 1000);
  }

  /** True if another failure makes the job dead. */
  isLast({ attempts }: JobClaim): boolean {
    return attempts + 1 >= this.#retry.attempts;
  }

  /** Pending again after a wait; no attempt is counted. */
  postponed(claim: JobClaim, { code, message }: JobReason, seconds: number): Promise<boolean> {
    const columns = { state: 'pending', reason_code: code, reason: message };
    return this.#jobs.end(claim, columns, Math.min(seconds, this.#retry.max) * 1000);
  }

  /** Pending as if it had not been taken. */
  release(claim: JobClaim): Promise<boolean> {
    return this.#jobs.end(claim, { state: 'pending' });
  }

  /** Dead jobs are pending again, with all their attempts. @returns how many */
  revive(where: Columns): Promise<number> {
    return this.#jobs.revive(where);
  }

  /** Jobs that wait for their next attempt are due now. */
  hurry(where: Columns): Promise<void> {
    return this.#jobs.hurry(where);
  }

  /** By state; a state without jobs is absent. */
  counts(where: Columns = {}): Promise<Readonly<Record<string, number>>> {
    return this.#jobs.counts(where);
  }

  /** When the next job is due; null where none is pending. */
  nextDue(where: Columns = {}): Promise<Due | null> {
    return this.#jobs.nextDue(where);
  }
}

function failure({ attempts }: JobClaim, { code, message }: JobReason): Columns {
  return { attempts: attempts + 1, reason_code: code, reason: message };
}

/** Seconds before another attempt, a fifth more or less: five attempts outlast most outages of a forge. */
export function retrySeconds(
  failures: number,
  { first, max }: Pick<RetryPolicy, 'first' | 'max'>,
  random: () => number = Math.random,
): number {
  return Math.min(max, first * 6 ** Math.min(failures - 1, 20)) * (0.8 + 0.4 * random());
}
