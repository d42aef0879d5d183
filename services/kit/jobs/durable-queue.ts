import { randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';

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
 * A table of jobs. It has the columns of `jobColumns`; `state` is `pending`, `processing`, or one of those in which a job has
 * ended: `done`, `skipped`, `dead`.
 */
export interface JobTable {
  readonly name: string;
  /** SQL that is true for a pending row `job` that may be processed beside what is processed already. */
  readonly ready: string;
  /** The index of pending jobs by `due_at`. */
  readonly dueIndex: string;
}

/** Times are milliseconds since 1970. */
export const jobColumns = `
  seq INTEGER PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('pending', 'processing', 'done', 'skipped', 'dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  claim TEXT,
  claimed_until INTEGER,
  changed_at INTEGER NOT NULL,
  reason_code TEXT,
  reason TEXT`;

export type JobRow = Readonly<Record<string, SQLOutputValue>>;
/** Values by column: what is set, or what has to be equal. */
export type Columns = Readonly<Record<string, SQLInputValue>>;

/** The right to process one job, for a while. */
export interface JobClaim {
  readonly seq: number;
  /** Attempts that failed before. */
  readonly attempts: number;
  readonly token: string;
}

export interface JobReason {
  readonly code: string;
  readonly message: string;
}

/** No retry waits longer: what is due later was put off by a clock that was set back since. */
const maxAheadMs = 36 * 3_600_000;
/** No lease is longer, unless one asks for it. */
const maxLeaseMs = 6 * 3_600_000;

/**
 * A durable queue in a table of SQLite. A job that is claimed is given to nobody else until its end is recorded or its lease is
 * over, so every job is processed at least once. Changes are on the disk when a method returns.
 */
export class DurableQueue {
  readonly #db: DatabaseSync;
  readonly #table: JobTable;
  readonly #retry: RetryPolicy;
  readonly #now: () => number;

  constructor(db: DatabaseSync, table: JobTable, retry: RetryPolicy, now: () => number = Date.now) {
    this.#db = db;
    this.#table = table;
    this.#retry = retry;
    this.#now = now;
  }

  /**
   * Takes the job that is due longest.
   * @param where of these jobs alone
   * @param early also before its time
   * @returns null where none is due and ready
   */
  claim(leaseMs: number, where: Columns = {}, early = false): { claim: JobClaim; row: JobRow } | null {
    const now = this.#now();
    const token = randomUUID();
    const { name, ready, dueIndex } = this.#table;
    // It keeps its place among those that are due.
    this.#db
      .prepare(
        `UPDATE ${name} SET state = 'pending', due_at = min(due_at, ?), changed_at = ?, claim = NULL, claimed_until = NULL
        WHERE state = 'processing' AND (claimed_until < ? OR claimed_until > ?)`,
      )
      .run(now, now, now, now + Math.max(maxLeaseMs, 2 * leaseMs));
    const take = (from: number, to: number) => {
      const index = early ? '' : `INDEXED BY ${dueIndex}`;
      const first = `SELECT seq FROM ${name} AS job ${index} WHERE state = 'pending' AND due_at BETWEEN ? AND ?
        AND ${equal(where)} AND ${ready} ORDER BY due_at, seq LIMIT 1`;
      const taken = { state: 'processing', claim: token, claimed_until: now + leaseMs };
      return this.#update(taken, `seq = (${first})`, [from, to, ...Object.values(where)])[0];
    };
    const row = early
      ? take(0, Number.MAX_SAFE_INTEGER)
      : (take(0, now) ?? take(now + maxAheadMs, Number.MAX_SAFE_INTEGER));
    return row === undefined
      ? null
      : { claim: { seq: Number(row.seq), attempts: Number(row.attempts), token }, row };
  }

  /** Each ends a claim; false where it had been lost meanwhile, and nothing was changed. */
  done(claim: JobClaim, columns: Columns = {}): boolean {
    return this.#end(claim, { state: 'done', due_at: null, reason_code: null, reason: null, ...columns });
  }

  /** There was nothing to do. */
  skipped(claim: JobClaim, reason: JobReason): boolean {
    return this.#end(claim, { state: 'skipped', due_at: null, ...failure(claim, reason) });
  }

  /** Not tried again, unless somebody revives it. */
  dead(claim: JobClaim, reason: JobReason, columns: Columns = {}): boolean {
    return this.#end(claim, { state: 'dead', due_at: null, ...failure(claim, reason), ...columns });
  }

  /** Pending again after the wait of the policy, or dead after the last attempt. @param minSeconds a longer wait that was asked for */
  failed(claim: JobClaim, reason: JobReason, minSeconds = 0): boolean {
    if (this.isLast(claim)) return this.dead(claim, reason);
    const seconds = Math.max(minSeconds, retrySeconds(claim.attempts + 1, this.#retry));
    const due_at = Math.ceil(this.#now() + seconds * 1000);
    return this.#end(claim, { state: 'pending', due_at, ...failure(claim, reason) });
  }

  /** True if another failure makes the job dead. */
  isLast({ attempts }: JobClaim): boolean {
    return attempts + 1 >= this.#retry.attempts;
  }

  /** Pending again after a wait; no attempt is counted. */
  postponed(claim: JobClaim, { code, message }: JobReason, seconds: number): boolean {
    const due_at = this.#now() + Math.min(seconds, this.#retry.max) * 1000;
    return this.#end(claim, { state: 'pending', due_at, reason_code: code, reason: message });
  }

  /** Pending as if it had not been taken. */
  release(claim: JobClaim): boolean {
    return this.#end(claim, { state: 'pending' });
  }

  /** Dead jobs are pending again, with all their attempts. @returns their rows */
  revive(where: Columns): readonly JobRow[] {
    const columns = { state: 'pending', attempts: 0, due_at: this.#now(), reason_code: null, reason: null };
    return this.#update(columns, `state = 'dead' AND ${equal(where)}`, Object.values(where));
  }

  /** Jobs that wait for their next attempt are due now. */
  hurry(where: Columns): void {
    const now = this.#now();
    this.#update({ due_at: now }, `state = 'pending' AND due_at > ? AND ${equal(where)}`, [
      now,
      ...Object.values(where),
    ]);
  }

  /** By state; a state without jobs is absent. */
  counts(where: Columns = {}): Readonly<Record<string, number>> {
    const rows = this.#db
      .prepare(`SELECT state, count(*) AS n FROM ${this.#table.name} WHERE ${equal(where)} GROUP BY state`)
      .all(...Object.values(where));
    return Object.fromEntries(rows.map(({ state, n }) => [String(state), Number(n)]));
  }

  /** When the next job is due; null where none is pending. */
  nextDue(where: Columns = {}): number | null {
    const { name, dueIndex } = this.#table;
    const row = this.#db
      .prepare(
        `SELECT due_at FROM ${name} INDEXED BY ${dueIndex} WHERE state = 'pending' AND ${equal(where)} ORDER BY due_at LIMIT 1`,
      )
      .get(...Object.values(where));
    return row === undefined ? null : Number(row.due_at);
  }

  #end({ seq, token }: JobClaim, columns: Columns): boolean {
    const own = "seq = ? AND claim = ? AND state = 'processing'";
    return this.#update({ ...columns, ...free }, own, [seq, token]).length === 1;
  }

  #update(columns: Columns, where: string, values: readonly SQLInputValue[]): readonly JobRow[] {
    const set = { ...columns, changed_at: this.#now() };
    const names = Object.keys(set).map((name) => `${name} = ?`);
    return this.#db
      .prepare(`UPDATE ${this.#table.name} SET ${names.join(', ')} WHERE ${where} RETURNING *`)
      .all(...Object.values(set), ...values);
  }
}

const free = { claim: null, claimed_until: null };

function failure({ attempts }: JobClaim, { code, message }: JobReason): Columns {
  return { attempts: attempts + 1, reason_code: code, reason: message };
}

function equal(where: Columns): string {
  return ['true', ...Object.keys(where).map((name) => `${name} = ?`)].join(' AND ');
}

/** Seconds before another attempt, a fifth more or less: five attempts outlast most outages of a forge. */
export function retrySeconds(
  failures: number,
  { first, max }: Pick<RetryPolicy, 'first' | 'max'>,
  random: () => number = Math.random,
): number {
  return Math.min(max, first * 6 ** Math.min(failures - 1, 20)) * (0.8 + 0.4 * random());
}
