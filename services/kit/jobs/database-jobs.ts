import { randomUUID } from 'node:crypto';
import { guarded } from '../callbacks.ts';
import { type Database, places, rowLock } from '../database/database.ts';
import { isUniqueViolation } from '../database/errors.ts';
import type { ColumnTypes } from '../database/schema.ts';

/**
 * A table of jobs. Its columns are those of `jobColumns` and its own; `state` is `pending`, `processing`, or one of those in which
 * a job has ended: `done`, `skipped`, `dead`.
 */
export interface JobTable {
  readonly name: string;
  /** SQL that is true for a pending row `job` that may be processed beside what is processed already. */
  readonly ready: string;
  /** SQL of further assignments for a dead job that is revived. */
  readonly revived?: string;
}

/** Times are milliseconds since 1970, by the clock of the database. */
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

/** When something is due, by the clock of the database, and how long it is until then. */
export interface Due {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds; negative for what is late. */
  readonly inMs: number;
}

/** Columns of a table of jobs, beside its own. Times are milliseconds since 1970, by the clock of the database. */
export function jobColumns({ identity, text, integer }: ColumnTypes): string {
  return `
    seq ${identity},
    state ${text} NOT NULL CHECK (state IN ('pending', 'processing', 'done', 'skipped', 'dead')),
    attempts ${integer} NOT NULL DEFAULT 0,
    due_at ${integer},
    claim ${text},
    claimed_until ${integer},
    changed_at ${integer} NOT NULL,
    reason_code ${text},
    reason ${text}`;
}

/** Indexes of a table of jobs. */
export function jobIndexes(table: string): string {
  return `
    CREATE INDEX ${table}_leases ON ${table} (claimed_until) WHERE state = 'processing';
    CREATE INDEX ${table}_due ON ${table} (state, due_at, seq);`;
}

/** So often a claim is tried again that another host was faster with. */
const attempts = 20;
const now = '(SELECT core_clock_ms())';

/**
 * Jobs in a table of a database, by its clock alone. A claim is a lease that is renewed while this process lives, so that the job of a
 * process that is gone is taken over soon. Its token is random, because a standby that takes over may give the numbers of a sequence
 * again, and every end has to name it.
 */
export class DatabaseJobs {
  readonly #database: Pick<Database, 'engine' | 'query' | 'write'>;
  readonly #table: JobTable;
  readonly #leaseMs: number;
  /** By token, until when a claim is renewed, by this process's own clock in milliseconds. */
  readonly #held = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param options `leaseMs`: how long a claim outlives its holder; renewed three times as often */
  constructor(
    database: Pick<Database, 'engine' | 'query' | 'write'>,
    table: JobTable,
    { leaseMs = 30_000 }: { readonly leaseMs?: number } = {},
  ) {
    this.#database = database;
    this.#table = table;
    this.#leaseMs = leaseMs;
  }

  /**
   * Claims the job that is due longest. Jobs whose lease is over are pending again before; they keep their place among those that are due.
   * @param where of these jobs alone
   * @param early also before its time
   */
  async take(
    leaseMs: number,
    where: Columns,
    early: boolean,
  ): Promise<{ claim: JobClaim; row: JobRow } | null> {
    await this.#free(leaseMs);
    const until = performance.now() + leaseMs;
    // A job that is due far ahead was added before the clock was set back.
    for (const due of early ? ['true'] : [`due_at <= ${now}`, `due_at > ${now} + ${maxAheadMs}`]) {
      const row = await this.#takeFirst(due, Math.min(leaseMs, this.#leaseMs), where);
      if (row !== null) return { claim: this.#hold(row, until), row };
    }
    return null;
  }

  /** Jobs whose lease is over are pending again. */
  async #free(leaseMs: number): Promise<void> {
    const over = `state = 'processing' AND (claimed_until < ${now} OR claimed_until > ${now} + $1)`;
    const { name } = this.#table;
    if (
      (await this.#database.query(`SELECT 1 FROM ${name} WHERE ${over} LIMIT 1`, [maxLeaseMs(leaseMs)]))
        .length === 0
    )
      return;
    await this.#database.write(
      `UPDATE ${name} SET state = 'pending', due_at = least(due_at, ${now}), changed_at = ${now}, claim = NULL,
        claimed_until = NULL WHERE ${over}`,
      [maxLeaseMs(leaseMs)],
    );
  }

  async #takeFirst(due: string, leaseMs: number, where: Columns): Promise<JobRow | null> {
    const { name, ready } = this.#table;
    const first = `SELECT seq FROM ${name} AS job WHERE state = 'pending' AND ${due} AND ${equal(where, 3)} AND ${ready}
      ORDER BY due_at, seq LIMIT 1 ${rowLock(this.#database, 'FOR UPDATE SKIP LOCKED')}`;
    for (let attempt = 1; ; attempt++) {
      try {
        const [row] = await this.#database.write<JobRow>(
          `UPDATE ${name} SET state = 'processing', claim = $1, claimed_until = ${now} + $2, changed_at = ${now}
          WHERE seq = (${first}) RETURNING *`,
          [randomUUID(), leaseMs, ...Object.values(where)],
        );
        return row ?? null;
      } catch (error) {
        // Another host claimed one that this one excludes, at the same time.
        if (!isUniqueViolation(error) || attempt === attempts) throw error;
      }
    }
  }

  /**
   * Ends a claim; durable when it resolves. @param dueInMs sets when it is due again, counted from now
   * @returns false where its lease was over, and nothing was changed
   */
  async end({ seq, token }: JobClaim, columns: Columns, dueInMs?: number): Promise<boolean> {
    const set = Object.keys(columns).map((name, index) => `${name} = $${index + 3}`);
    if (dueInMs !== undefined) set.push(`due_at = core_clock_ms() + ${Math.ceil(dueInMs)}`);
    const rows = await this.#database.write(
      `UPDATE ${this.#table.name}
      SET ${[...set, 'claim = NULL', 'claimed_until = NULL', 'changed_at = core_clock_ms()'].join(', ')}
      WHERE seq = $1 AND claim = $2 AND state = 'processing' AND claimed_until >= core_clock_ms() RETURNING seq`,
      [seq, token, ...Object.values(columns)],
    );
    this.#forget(token);
    return rows.length === 1;
  }

  /** Dead jobs are due now, with all their attempts. @returns how many */
  async revive(where: Columns): Promise<number> {
    const { name, revived } = this.#table;
    const rows = await this.#database.write(
      `UPDATE ${name} SET state = 'pending', attempts = 0, due_at = core_clock_ms(), reason_code = NULL, reason = NULL,
        ${revived === undefined ? '' : `${revived},`} changed_at = core_clock_ms()
      WHERE state = 'dead' AND ${equal(where, 1)} RETURNING seq`,
      Object.values(where),
    );
    return rows.length;
  }

  /** Jobs that wait for their next attempt are due now. */
  async hurry(where: Columns): Promise<void> {
    await this.#database.write(
      `UPDATE ${this.#table.name} SET due_at = core_clock_ms(), changed_at = core_clock_ms()
      WHERE state = 'pending' AND due_at > ${now} AND ${equal(where, 1)}`,
      Object.values(where),
    );
  }

  /** By state; a state without jobs is absent. */
  async counts(where: Columns): Promise<Readonly<Record<string, number>>> {
    const rows = await this.#database.query<{ state: string; n: number }>(
      `SELECT state, count(*) AS n FROM ${this.#table.name} WHERE ${equal(where, 1)} GROUP BY state`,
      Object.values(where),
    );
    return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
  }

  /** When the next job is due; null where none is pending. */
  async nextDue(where: Columns): Promise<Due | null> {
    const [row] = await this.#database.query<{ at: number; left: number }>(
      `SELECT due_at AS at, due_at - core_clock_ms() AS left FROM ${this.#table.name}
      WHERE state = 'pending' AND ${equal(where, 1)} ORDER BY due_at, seq LIMIT 1`,
      Object.values(where),
    );
    return row === undefined ? null : { at: row.at, inMs: row.left };
  }

  /** Claims are renewed no more; they end with their leases. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#held.clear();
  }

  #hold({ seq, attempts, claim }: JobRow, until: number): JobClaim {
    const token = String(claim);
    this.#held.set(token, until);
    this.#timer ??= setInterval(
      guarded('the queue of jobs', () => this.#renew()),
      this.#leaseMs / 3,
    ).unref();
    return { seq: Number(seq), attempts: Number(attempts), token };
  }

  #forget(token: string): void {
    this.#held.delete(token);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A lease that is over stays so, also where nobody took it: its holder learns it when it ends its claim. */
  async #renew(): Promise<void> {
    for (const [token, until] of this.#held) if (until <= performance.now()) this.#forget(token);
    const tokens = [...this.#held.keys()];
    if (tokens.length === 0) return;
    await this.#database
      .write(
        `UPDATE ${this.#table.name} SET claimed_until = ${now} + $1
        WHERE claim IN (${places(tokens, 2)}) AND state = 'processing' AND claimed_until >= ${now}`,
        [this.#leaseMs, ...tokens],
      )
      // The database is away: the next turn tries again.
      .catch(() => {});
  }
}

/** @param first the number of the first value */
function equal(where: Columns, first: number): string {
  return ['true', ...Object.keys(where).map((name, index) => `${name} = $${index + first}`)].join(' AND ');
}

/** No retry waits longer: what is due later was put off by a clock that was set back since. */
const maxAheadMs = 36 * 3_600_000;

/** A claim ends later than this only by a clock that was set back since. */
function maxLeaseMs(leaseMs: number): number {
  return Math.max(6 * 3_600_000, 2 * leaseMs);
}
