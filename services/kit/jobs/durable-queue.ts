/** When a job that failed is tried again, and when it is given up. */
export interface RetryPolicy {
  /** Failures after which a job is dead. */
  readonly attempts: number;
  /** Seconds until the second attempt; each further one waits six times as long. */
  readonly first: number;
  /** The longest wait, in seconds. */
  readonly max: number;
}

/**
 * A table of jobs. Its columns are those of `jobColumns` and its own; `state` is `pending`, `processing`, or one of those in which
 * a job has ended: `done`, `skipped`, `dead`.
 */
export interface JobTable {
  readonly name: string;
  /** SQL that is true for a pending row `job` that may be processed beside what is processed already. */
  readonly ready: string;
  /** The index of pending jobs by `due_at`, of a table in a file of the bridge. */
  readonly dueIndex?: string;
  /** SQL of further assignments for a dead job that is revived. */
  readonly revived?: string;
}

/** Times are milliseconds since 1970, by the clock of the store. */
export type JobRow = Readonly<Record<string, unknown>>;
/** Values by column: what is set, or what has to be equal. */
export type Columns = Readonly<Record<string, string | number | null>>;

/** The right to process one job, for a while. */
export interface JobClaim {
  readonly seq: number;
  /** Attempts that failed before. */
  readonly attempts: number;
  /** Never given twice. */
  readonly token: string;
}

export interface JobReason {
  readonly code: string;
  readonly message: string;
}

/** When something is due, by the clock of the store, and how long it is until then. */
export interface Due {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds; negative for what is late. */
  readonly inMs: number;
}

/** Where the jobs of a queue are. Changes are durable when a promise resolves. */
export interface JobRows {
  /**
   * Claims the job that is due longest. Jobs whose lease is over are pending again before; they keep their place among those that are due.
   * @param where of these jobs alone
   * @param early also before its time
   */
  take(leaseMs: number, where: Columns, early: boolean): Promise<{ claim: JobClaim; row: JobRow } | null>;
  /**
   * Ends a claim. @param dueInMs sets when it is due again, counted from now
   * @returns false where its lease was over, and nothing was changed
   */
  end(claim: JobClaim, columns: Columns, dueInMs?: number): Promise<boolean>;
  /** Dead jobs are due now, with all their attempts. @returns how many */
  revive(where: Columns): Promise<number>;
  /** Jobs that wait for their next attempt are due now. */
  hurry(where: Columns): Promise<void>;
  /** By state; a state without jobs is absent. */
  counts(where: Columns): Promise<Readonly<Record<string, number>>>;
  /** When the next job is due; null where none is pending. */
  nextDue(where: Columns): Promise<Due | null>;
}

/**
 * A durable queue. A job that is claimed is given to nobody else until its end is recorded or its lease is over, and whoever held a
 * lease that is over ends nothing: every job is processed at least once, and ended once.
 */
export class DurableQueue {
  readonly #rows: JobRows;
  readonly #retry: RetryPolicy;

  constructor(rows: JobRows, retry: RetryPolicy) {
    this.#rows = rows;
    this.#retry = retry;
  }

  /** As `JobRows.take`. @returns null where none is due and ready */
  claim(
    leaseMs: number,
    where: Columns = {},
    early = false,
  ): Promise<{ claim: JobClaim; row: JobRow } | null> {
    return this.#rows.take(leaseMs, where, early);
  }

  /** Each ends a claim; false where it had been lost meanwhile, and nothing was changed. */
  done(claim: JobClaim, columns: Columns = {}): Promise<boolean> {
    const ended = { state: 'done', due_at: null, reason_code: null, reason: null, ...columns };
    return this.#rows.end(claim, ended);
  }

  /** There was nothing to do. */
  skipped(claim: JobClaim, reason: JobReason): Promise<boolean> {
    return this.#rows.end(claim, { state: 'skipped', due_at: null, ...failure(claim, reason) });
  }

  /** Not tried again, unless somebody revives it. */
  dead(claim: JobClaim, reason: JobReason, columns: Columns = {}): Promise<boolean> {
    return this.#rows.end(claim, { state: 'dead', due_at: null, ...failure(claim, reason), ...columns });
  }

  /** Pending again after the wait of the policy, or dead after the last attempt. @param minSeconds a longer wait that was asked for */
  failed(claim: JobClaim, reason: JobReason, minSeconds = 0): Promise<boolean> {
    if (this.isLast(claim)) return this.dead(claim, reason);
    const seconds = Math.max(minSeconds, retrySeconds(claim.attempts + 1, this.#retry));
    return this.#rows.end(claim, { state: 'pending', ...failure(claim, reason) }, seconds * 1000);
  }

  /** True if another failure makes the job dead. */
  isLast({ attempts }: JobClaim): boolean {
    return attempts + 1 >= this.#retry.attempts;
  }

  /** Pending again after a wait; no attempt is counted. */
  postponed(claim: JobClaim, { code, message }: JobReason, seconds: number): Promise<boolean> {
    const columns = { state: 'pending', reason_code: code, reason: message };
    return this.#rows.end(claim, columns, Math.min(seconds, this.#retry.max) * 1000);
  }

  /** Pending as if it had not been taken. */
  release(claim: JobClaim): Promise<boolean> {
    return this.#rows.end(claim, { state: 'pending' });
  }

  /** Dead jobs are pending again, with all their attempts. @returns how many */
  revive(where: Columns): Promise<number> {
    return this.#rows.revive(where);
  }

  /** Jobs that wait for their next attempt are due now. */
  hurry(where: Columns): Promise<void> {
    return this.#rows.hurry(where);
  }

  /** By state; a state without jobs is absent. */
  counts(where: Columns = {}): Promise<Readonly<Record<string, number>>> {
    return this.#rows.counts(where);
  }

  /** When the next job is due; null where none is pending. */
  nextDue(where: Columns = {}): Promise<Due | null> {
    return this.#rows.nextDue(where);
  }
}

/** No retry waits longer: what is due later was put off by a clock that was set back since. */
export const maxAheadMs = 36 * 3_600_000;

/** A claim ends later than this only by a clock that was set back since. */
export function maxLeaseMs(leaseMs: number): number {
  return Math.max(6 * 3_600_000, 2 * leaseMs);
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
