import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { transaction } from '#kit/storage/database.ts';

/** A summary on its way to a dashboard. */
export interface Delivery {
  readonly seq: number;
  readonly dashboard: string;
  readonly run_id: string;
  readonly status: string;
  readonly body: string;
  readonly attempts: number;
}

export interface NewDelivery {
  readonly dashboard: string;
  readonly run_id: string;
  readonly status: string;
}

export interface DeliveryCounts {
  readonly waiting: number;
  readonly delivered: number;
  readonly dead: number;
  readonly problem: string | null;
}

/** No retry waits longer: what is due later was put off by a clock that was set back since. */
const mostAheadMs = 36 * 3_600_000;

/** The outbox: what dashboards are to be told, once for each run and state. */
export class DeliveryRows {
  readonly #db: DatabaseSync;
  readonly #known: StatementSync;
  readonly #insert: StatementSync;
  readonly #due: StatementSync;
  readonly #delivered: StatementSync;
  readonly #failed: StatementSync;
  readonly #dead: StatementSync;
  readonly #revive: StatementSync;
  readonly #counts: StatementSync;
  readonly #problem: StatementSync;
  readonly #nextDue: StatementSync;
  readonly #oldestWaiting: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#known = db.prepare('SELECT 1 FROM deliveries WHERE dashboard = ? AND run_id = ? AND status = ?');
    this.#insert = db.prepare(
      "INSERT INTO deliveries (dashboard, run_id, status, body, state, due_at, changed_at) VALUES (?, ?, ?, ?, 'waiting', ?, ?)",
    );
    // What a dashboard learns of one run, it learns in order.
    this.#due = db.prepare(`
      SELECT seq, dashboard, run_id, status, body, attempts FROM deliveries AS own
      WHERE dashboard = ? AND state = 'waiting' AND (due_at <= ? OR due_at > ?) AND seq > ? AND NOT EXISTS (
        SELECT 1 FROM deliveries AS before WHERE before.dashboard = own.dashboard AND before.run_id = own.run_id
          AND before.state = 'waiting' AND before.seq < own.seq)
      ORDER BY seq LIMIT 1`);
    this.#delivered = db.prepare(
      "UPDATE deliveries SET state = 'delivered', changed_at = ?, problem = NULL WHERE seq = ?",
    );
    this.#failed = db.prepare(
      'UPDATE deliveries SET attempts = attempts + 1, due_at = ?, changed_at = ?, problem = ? WHERE seq = ?',
    );
    this.#dead = db.prepare(
      "UPDATE deliveries SET state = 'dead', attempts = attempts + 1, changed_at = ?, problem = ? WHERE seq = ?",
    );
    this.#revive = db.prepare(
      "UPDATE deliveries SET state = 'waiting', attempts = 0, due_at = ?, changed_at = ? WHERE dashboard = ? AND state = 'dead'",
    );
    this.#counts = db.prepare(
      'SELECT state, count(*) AS n FROM deliveries WHERE dashboard = ? GROUP BY state',
    );
    this.#problem = db.prepare(`
      SELECT problem FROM deliveries WHERE dashboard = ? AND state IN ('waiting', 'dead') AND problem IS NOT NULL
      ORDER BY changed_at DESC LIMIT 1`);
    this.#nextDue = db.prepare(
      "SELECT min(due_at) AS due FROM deliveries WHERE dashboard = ? AND state = 'waiting'",
    );
    this.#oldestWaiting = db.prepare(
      "SELECT json_extract(body, '$.observed_at') AS at FROM deliveries WHERE dashboard = ? AND state = 'waiting' ORDER BY seq LIMIT 1",
    );
  }

  /**
   * Adds what is not there yet, in one commit.
   * @param bodyOf makes the text of those that are added
   * @returns how many were
   */
  enqueue(wanted: readonly NewDelivery[], bodyOf: (delivery: NewDelivery) => string, now: number): number {
    const missing = wanted.filter(
      ({ dashboard, run_id, status }) => this.#known.get(dashboard, run_id, status) === undefined,
    );
    if (missing.length === 0) return 0;
    transaction(this.#db, () => {
      for (const delivery of missing) {
        const { dashboard, run_id, status } = delivery;
        this.#insert.run(dashboard, run_id, status, bodyOf(delivery), now, now);
      }
    });
    return missing.length;
  }

  /** The first that is due after `seq`; null where none is. */
  due(dashboard: string, now: number, seq: number): Delivery | null {
    return (this.#due.get(dashboard, now, now + mostAheadMs, seq) as Delivery | undefined) ?? null;
  }

  delivered({ seq }: Delivery, now: number): void {
    this.#delivered.run(now, seq);
  }

  failed({ seq }: Delivery, problem: string, retryAt: number, now: number): void {
    this.#failed.run(retryAt, now, problem, seq);
  }

  dead({ seq }: Delivery, problem: string, now: number): void {
    this.#dead.run(now, problem, seq);
  }

  /** Those that were given up are tried again. */
  revive(dashboard: string, now: number): void {
    this.#revive.run(now, now, dashboard);
  }

  counts(dashboard: string): DeliveryCounts {
    const rows = this.#counts.all(dashboard) as { state: string; n: number }[];
    const count = (state: string) => rows.find((row) => row.state === state)?.n ?? 0;
    const row = this.#problem.get(dashboard) as { problem: string } | undefined;
    return {
      waiting: count('waiting'),
      delivered: count('delivered'),
      dead: count('dead'),
      problem: row?.problem ?? null,
    };
  }

  /** When what waits longest was seen, in milliseconds since 1970; null where nothing waits. */
  oldestWaiting(dashboard: string): number | null {
    const row = this.#oldestWaiting.get(dashboard) as { at: string | null } | undefined;
    return row?.at == null ? null : Date.parse(row.at);
  }

  nextDue(dashboard: string): number | null {
    return (this.#nextDue.get(dashboard) as { due: number | null }).due;
  }
}
