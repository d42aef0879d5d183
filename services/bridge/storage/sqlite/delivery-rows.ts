import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '#kit/storage/database.ts';
import type { Delivery, DeliveryRows, NewDelivery } from '../../sync/outbox.ts';

/** Deliveries in `queue.sqlite`. */
export class SqliteDeliveryRows implements DeliveryRows {
  readonly #db: DatabaseSync;
  readonly #now: () => number;

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  async missing(wanted: readonly Delivery[]): Promise<readonly Delivery[]> {
    const known = this.#db.prepare(
      'SELECT 1 FROM deliveries WHERE dashboard = ? AND run_id = ? AND status = ?',
    );
    return wanted.filter(
      ({ dashboard, run_id, status }) => known.get(dashboard, run_id, status) === undefined,
    );
  }

  async add(deliveries: readonly NewDelivery[]): Promise<number> {
    const insert = this.#db.prepare(
      `INSERT INTO deliveries (dashboard, run_id, status, body, state, due_at, changed_at)
      SELECT $dashboard, $run_id, $status, $body, 'pending', $now, $now WHERE NOT EXISTS (
        SELECT 1 FROM deliveries WHERE dashboard = $dashboard AND run_id = $run_id
          AND json_extract(body, '$.run.updated_at') > $run_updated_at)
      ON CONFLICT DO NOTHING`,
    );
    const now = this.#now();
    return transaction(this.#db, () =>
      deliveries.reduce((sum, one) => sum + Number(insert.run({ ...one, now }).changes), 0),
    );
  }

  async problem(dashboard: string): Promise<string | null> {
    const row = this.#db
      .prepare(
        "SELECT reason FROM deliveries WHERE dashboard = ? AND state IN ('pending', 'processing', 'dead') AND reason IS NOT NULL ORDER BY changed_at DESC LIMIT 1",
      )
      .get(dashboard) as { reason: string } | undefined;
    return row?.reason ?? null;
  }

  async oldestMs(dashboard: string): Promise<number | null> {
    const row = this.#db
      .prepare(
        "SELECT json_extract(body, '$.observed_at') AS at FROM deliveries WHERE dashboard = ? AND state IN ('pending', 'processing') ORDER BY seq LIMIT 1",
      )
      .get(dashboard) as { at: string | null } | undefined;
    return row?.at == null ? null : this.#now() - Date.parse(row.at);
  }
}
