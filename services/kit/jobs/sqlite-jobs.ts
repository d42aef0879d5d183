import { randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
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

export interface SqliteJobsOptions {
  readonly now?: () => number;
  /** Turns what SQLite throws into an error for callers. */
  readonly explain?: (error: unknown) => unknown;
}

/** Jobs in a table of SQLite. Changes are on the disk when a promise resolves. */
export class SqliteJobs implements JobRows {
  readonly #db: DatabaseSync;
  readonly #table: JobTable;
  readonly #now: () => number;
  readonly #explain: (error: unknown) => unknown;

  constructor(
    db: DatabaseSync,
    table: JobTable,
    { now = Date.now, explain = (error) => error }: SqliteJobsOptions = {},
  ) {
    this.#db = db;
    this.#table = table;
    this.#now = now;
    this.#explain = explain;
  }

  async take(leaseMs: number, where: Columns, early: boolean) {
    const now = this.#now();
    const token = randomUUID();
    const { name, ready, dueIndex } = this.#table;
    return this.#run(() => {
      this.#db
        .prepare(
          `UPDATE ${name} SET state = 'pending', due_at = min(due_at, ?), changed_at = ?, claim = NULL, claimed_until = NULL
          WHERE state = 'processing' AND (claimed_until < ? OR claimed_until > ?)`,
        )
        .run(now, now, now, now + maxLeaseMs(leaseMs));
      const take = (from: number, to: number) => {
        const index = early || dueIndex === undefined ? '' : `INDEXED BY ${dueIndex}`;
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
    });
  }

  async end({ seq, token }: JobClaim, columns: Columns, dueInMs?: number): Promise<boolean> {
    const now = this.#now();
    const due = dueInMs === undefined ? {} : { due_at: Math.ceil(now + dueInMs) };
    const own = "seq = ? AND claim = ? AND state = 'processing' AND claimed_until >= ?";
    return this.#run(
      () => this.#update({ ...columns, ...due, ...free }, own, [seq, token, now]).length === 1,
    );
  }

  async revive(where: Columns): Promise<number> {
    const columns = { state: 'pending', attempts: 0, due_at: this.#now(), reason_code: null, reason: null };
    return this.#run(() => {
      const dead = `state = 'dead' AND ${equal(where)}`;
      return this.#update(columns, dead, Object.values(where), this.#table.revived).length;
    });
  }

  async hurry(where: Columns): Promise<void> {
    const now = this.#now();
    const waiting = `state = 'pending' AND due_at > ? AND ${equal(where)}`;
    this.#run(() => this.#update({ due_at: now }, waiting, [now, ...Object.values(where)]));
  }

  async counts(where: Columns): Promise<Readonly<Record<string, number>>> {
    const rows = this.#run(() =>
      this.#db
        .prepare(`SELECT state, count(*) AS n FROM ${this.#table.name} WHERE ${equal(where)} GROUP BY state`)
        .all(...Object.values(where)),
    );
    return Object.fromEntries(rows.map(({ state, n }) => [String(state), Number(n)]));
  }

  async nextDue(where: Columns): Promise<Due | null> {
    const { name, dueIndex } = this.#table;
    const row = this.#run(() =>
      this.#db
        .prepare(
          `SELECT due_at FROM ${name} INDEXED BY ${dueIndex} WHERE state = 'pending' AND ${equal(where)} ORDER BY due_at LIMIT 1`,
        )
        .get(...Object.values(where)),
    );
    if (row === undefined) return null;
    const at = Number(row.due_at);
    return { at, inMs: at - this.#now() };
  }

  #update(
    columns: Columns,
    where: string,
    values: readonly SQLInputValue[],
    more?: string,
  ): readonly JobRow[] {
    const set = { ...columns, changed_at: this.#now() };
    const names = [...Object.keys(set).map((name) => `${name} = ?`), ...(more === undefined ? [] : [more])];
    return this.#db
      .prepare(`UPDATE ${this.#table.name} SET ${names.join(', ')} WHERE ${where} RETURNING *`)
      .all(...Object.values(set), ...values);
  }

  #run<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#explain(error);
    }
  }
}

const free = { claim: null, claimed_until: null };

function equal(where: Columns): string {
  return ['true', ...Object.keys(where).map((name) => `${name} = ?`)].join(' AND ');
}
