import type { Database } from '#kit/database/database.ts';
import { postgresText } from '#kit/database/postgres-text.ts';
import type { Delivery, DeliveryRows, NewDelivery } from '../../sync/outbox.ts';

/** The transaction's lock for adding deliveries: those of a run get their numbers in the order of their commits. */
const addLock = 7_307_239_145;

/** Deliveries in the database that several bridges share. */
export class PostgresDeliveryRows implements DeliveryRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  missing(wanted: readonly Delivery[]): Promise<readonly Delivery[]> {
    return this.#database.query<Delivery>(
      `SELECT dashboard, run_id, status FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY
        AS wanted (dashboard, run_id, status, nth)
      WHERE NOT EXISTS (SELECT 1 FROM bridge_deliveries AS known
        WHERE known.dashboard = wanted.dashboard AND known.run_id = wanted.run_id AND known.status = wanted.status)
      ORDER BY nth`,
      [
        wanted.map(({ dashboard }) => dashboard),
        wanted.map(({ run_id }) => run_id),
        wanted.map(({ status }) => status),
      ],
    );
  }

  async add(deliveries: readonly NewDelivery[]): Promise<number> {
    const rows = deliveries.map((one) => ({ ...one, body: postgresText(one.body) }));
    return this.#database.transaction(async (sql) => {
      await sql.query('SELECT pg_advisory_xact_lock($1)', [addLock]);
      const added = await sql.query(
        `INSERT INTO bridge_deliveries (dashboard, run_id, status, body, run_updated_at, state, created_at, changed_at, due_at)
        SELECT dashboard, run_id, status, body, run_updated_at, 'pending', core_clock_ms(), core_clock_ms(), core_clock_ms()
        FROM json_to_recordset($1::json)
          AS given (dashboard text, run_id text, status text, body text, run_updated_at text)
        WHERE NOT EXISTS (SELECT 1 FROM bridge_deliveries AS later WHERE later.dashboard = given.dashboard
          AND later.run_id = given.run_id AND later.run_updated_at COLLATE "C" > given.run_updated_at)
        ON CONFLICT DO NOTHING RETURNING seq`,
        [JSON.stringify(rows)],
      );
      return added.length;
    });
  }

  async problem(dashboard: string): Promise<string | null> {
    const [row] = await this.#database.query<{ reason: string }>(
      `SELECT reason FROM bridge_deliveries WHERE dashboard = $1 AND state IN ('pending', 'processing', 'dead')
        AND reason IS NOT NULL ORDER BY changed_at DESC LIMIT 1`,
      [dashboard],
    );
    return row?.reason ?? null;
  }

  async oldestMs(dashboard: string): Promise<number | null> {
    const [row] = await this.#database.query<{ age: string }>(
      `SELECT core_clock_ms() - created_at AS age FROM bridge_deliveries
      WHERE dashboard = $1 AND state IN ('pending', 'processing') ORDER BY seq LIMIT 1`,
      [dashboard],
    );
    return row === undefined ? null : Number(row.age);
  }
}
