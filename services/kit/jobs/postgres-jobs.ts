import { randomBytes } from 'node:crypto';
import { guarded } from '../callbacks.ts';
import type { Database } from '../postgres/database.ts';
import { sqlState, sqlStates } from '../postgres/postgres-error.ts';
import { postgresText } from '../postgres/postgres-text.ts';
import {
  type Columns,
  type Due,
  type JobClaim,
  type JobRow,
  type JobRows,
  type JobTable,
  maxAheadMs,
  maxLeaseMs,
} from './durable-queue.ts';

interface Held {
  readonly seq: number;
  /** Until when it is renewed, by this process's own clock, in milliseconds. */
  readonly until: number;
}

/** So often a claim is tried again that another host was faster with. */
const attempts = 20;

/**
 * Jobs in a table of the database that several hosts share, by its clock alone. A claim is a lease that is renewed while this process
 * lives, so that the job of a host that is gone is taken over soon. Its token is random, because a standby that takes over may give the
 * numbers of a sequence again, and every end has to name it.
 */
export class PostgresJobs implements JobRows {
  readonly #database: Pick<Database, 'query'>;
  readonly #table: JobTable;
  readonly #leaseMs: number;
  readonly #held = new Map<string, Held>();
  #timer: NodeJS.Timeout | undefined;

  /** @param options `leaseMs`: how long a claim outlives its holder; renewed three times as often */
  constructor(
    database: Pick<Database, 'query'>,
    table: JobTable,
    { leaseMs = 30_000 }: { readonly leaseMs?: number } = {},
  ) {
    this.#database = database;
    this.#table = table;
    this.#leaseMs = leaseMs;
  }

  async take(leaseMs: number, where: Columns, early: boolean) {
    const token = randomToken();
    const sql = this.#takeSql(where, early);
    const lease = Math.min(leaseMs, this.#leaseMs);
    const until = performance.now() + leaseMs;
    for (let attempt = 1; ; attempt++) {
      let answer: { freed: string; row: JobRow | null } | undefined;
      try {
        const values = [lease, maxLeaseMs(leaseMs), ...texts(where), token];
        [answer] = await this.#database.query<{ freed: string; row: JobRow | null }>(sql, values);
      } catch (error) {
        // Another host claimed one that this one excludes, at the same time.
        if (sqlState(error) === sqlStates.uniqueViolation && attempt < attempts) continue;
        throw error;
      }
      const row = answer?.row ?? null;
      if (row !== null) return { claim: this.#hold(row, token, until), row };
      if (answer === undefined || answer.freed === '0') return null;
    }
  }

  /** What a lease that is over freed is seen by the next statement alone, so that this one takes nothing then. */
  #takeSql(where: Columns, early: boolean): string {
    const { name, ready } = this.#table;
    const first = (due: string) => `(SELECT seq FROM ${name} AS job WHERE state = 'pending' AND ${due}
      AND ${equal(where, 3)} AND ${ready} ORDER BY due_at, seq LIMIT 1 FOR UPDATE SKIP LOCKED)`;
    const clock = '(SELECT ms FROM clock)';
    const taken = early
      ? first('true')
      : `coalesce(${first(`due_at <= ${clock}`)}, ${first(`due_at > ${clock} + ${maxAheadMs}`)})`;
    return `
      WITH clock AS MATERIALIZED (SELECT core_clock_ms() AS ms),
      freed AS (
        UPDATE ${name} SET state = 'pending', due_at = least(due_at, clock.ms), changed_at = clock.ms, claim = NULL, claimed_until = NULL
        FROM clock WHERE state = 'processing' AND (claimed_until < clock.ms OR claimed_until > clock.ms + $2::bigint)
        RETURNING 1),
      taken AS (
        UPDATE ${name} SET state = 'processing', claim = $${Object.keys(where).length + 3}::bigint, claimed_until = clock.ms + $1::bigint,
          changed_at = clock.ms
        FROM clock WHERE NOT EXISTS (SELECT 1 FROM freed) AND state = 'pending' AND seq = ${taken}
        RETURNING to_jsonb(${name}.*) AS row)
      SELECT (SELECT count(*) FROM freed) AS freed, (SELECT row FROM taken) AS row`;
  }

  async end({ seq, token }: JobClaim, columns: Columns, dueInMs?: number): Promise<boolean> {
    const names = Object.keys(columns);
    const set = names.map((name, index) => `${name} = $${index + 3}`);
    if (dueInMs !== undefined) set.push(`due_at = core_clock_ms() + ${Math.ceil(dueInMs)}`);
    const rows = await this.#database.query(
      `UPDATE ${this.#table.name}
      SET ${[...set, 'claim = NULL', 'claimed_until = NULL', 'changed_at = core_clock_ms()'].join(', ')}
      WHERE seq = $1 AND claim = $2 AND state = 'processing' AND claimed_until >= core_clock_ms() RETURNING seq`,
      [seq, token, ...texts(columns)],
    );
    this.#forget(token);
    return rows.length === 1;
  }

  async revive(where: Columns): Promise<number> {
    const { name, revived } = this.#table;
    const rows = await this.#database.query(
      `UPDATE ${name} SET state = 'pending', attempts = 0, due_at = core_clock_ms(), reason_code = NULL, reason = NULL,
        ${revived === undefined ? '' : `${revived},`} changed_at = core_clock_ms()
      WHERE state = 'dead' AND ${equal(where, 1)} RETURNING seq`,
      texts(where),
    );
    return rows.length;
  }

  async hurry(where: Columns): Promise<void> {
    await this.#database.query(
      `UPDATE ${this.#table.name} SET due_at = core_clock_ms(), changed_at = core_clock_ms()
      WHERE state = 'pending' AND due_at > (SELECT core_clock_ms()) AND ${equal(where, 1)}`,
      texts(where),
    );
  }

  async counts(where: Columns): Promise<Readonly<Record<string, number>>> {
    const rows = await this.#database.query<{ state: string; n: string }>(
      `SELECT state, count(*) AS n FROM ${this.#table.name} WHERE ${equal(where, 1)} GROUP BY state`,
      texts(where),
    );
    return Object.fromEntries(rows.map(({ state, n }) => [state, Number(n)]));
  }

  async nextDue(where: Columns): Promise<Due | null> {
    const [row] = await this.#database.query<{ at: string; left: string }>(
      `SELECT due_at AS at, due_at - core_clock_ms() AS left FROM ${this.#table.name}
      WHERE state = 'pending' AND ${equal(where, 1)} ORDER BY due_at, seq LIMIT 1`,
      texts(where),
    );
    return row === undefined ? null : { at: Number(row.at), inMs: Number(row.left) };
  }

  /** Claims are renewed no more; they end with their leases. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#held.clear();
  }

  #hold(row: JobRow, token: string, until: number): JobClaim {
    this.#held.set(token, { seq: Number(row.seq), until });
    this.#timer ??= setInterval(
      guarded('the queue of jobs', () => this.#renew()),
      this.#leaseMs / 3,
    ).unref();
    return { seq: Number(row.seq), attempts: Number(row.attempts), token };
  }

  #forget(token: string): void {
    this.#held.delete(token);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A lease that is over stays so, also where nobody took it: its holder learns it when it ends its claim. */
  async #renew(): Promise<void> {
    for (const [token, { until }] of this.#held) if (until <= performance.now()) this.#forget(token);
    const held = [...this.#held];
    if (held.length === 0) return;
    await this.#database
      .query(
        `UPDATE ${this.#table.name} AS job SET claimed_until = core_clock_ms() + $3::bigint
        FROM unnest($1::bigint[], $2::bigint[]) AS mine (seq, claim)
        WHERE job.seq = mine.seq AND job.claim = mine.claim AND state = 'processing' AND claimed_until >= core_clock_ms()`,
        [held.map(([, { seq }]) => seq), held.map(([token]) => token), this.#leaseMs],
      )
      // The database is away: the next turn tries again.
      .catch(() => {});
  }
}

/** Of 63 bits, which the column holds. */
function randomToken(): string {
  return String(BigInt.asUintN(63, randomBytes(8).readBigUInt64BE()));
}

function texts(columns: Columns): (string | number | null)[] {
  return Object.values(columns).map((value) => (typeof value === 'string' ? postgresText(value) : value));
}

/** @param first the number of the first value */
function equal(where: Columns, first: number): string {
  return ['true', ...Object.keys(where).map((name, index) => `${name} = $${index + first}`)].join(' AND ');
}
