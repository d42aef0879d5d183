import { type Database, valuesTable } from '#kit/database/database.ts';
import type { ColumnTypes } from '#kit/database/schema.ts';
import { type JobTable, jobColumns, jobIndexes } from '#kit/jobs/database-jobs.ts';

/** That a run reached a status, for one dashboard: delivered once. */
export interface Delivery {
  readonly dashboard: string;
  readonly run_id: string;
  readonly status: string;
}

export interface NewDelivery extends Delivery {
  readonly body: string;
  /** When the run came to this status, as the daemon says; RFC 3339 in UTC. */
  readonly run_updated_at: string;
}

/** Times are milliseconds since 1970, by the clock of the database. */
export function deliveryTables(types: ColumnTypes): string {
  const { text, integer, strict } = types;
  return `
    CREATE TABLE bridge_deliveries (${jobColumns(types)},
      dashboard ${text} NOT NULL,
      run_id ${text} NOT NULL,
      status ${text} NOT NULL,
      body ${text} NOT NULL,
      run_updated_at ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      UNIQUE (dashboard, run_id, status)
    )${strict};
    ${jobIndexes('bridge_deliveries')}
    CREATE INDEX bridge_deliveries_by_dashboard ON bridge_deliveries (dashboard, state, due_at, seq);
    CREATE INDEX bridge_deliveries_of_run ON bridge_deliveries (dashboard, run_id, seq)
      WHERE state IN ('pending', 'processing');
    CREATE INDEX bridge_deliveries_ended ON bridge_deliveries (state, changed_at) WHERE state IN ('done', 'skipped', 'dead');
    -- A row that is locked while deliveries are added.
    CREATE TABLE bridge_delivery_lock (one ${integer} PRIMARY KEY CHECK (one = 1))${strict};`;
}

/** Jobs of deliveries: the states of a run reach a dashboard in order. */
export const deliveryTable: JobTable = {
  name: 'bridge_deliveries',
  ready: `NOT EXISTS (
    SELECT 1 FROM bridge_deliveries AS before WHERE before.dashboard = job.dashboard AND before.run_id = job.run_id
      AND before.state IN ('pending', 'processing') AND before.seq < job.seq)`,
};

const key = { nth: 'bigint', dashboard: 'text', run_id: 'text', status: 'text' } as const;

/** Deliveries to dashboards. Their jobs are in the same rows. */
export class DeliveryRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Those of `wanted` that are not there yet. */
  async missing(wanted: readonly Delivery[]): Promise<readonly Delivery[]> {
    if (wanted.length === 0) return [];
    const { text, values } = valuesTable('wanted', key, numbered(wanted));
    return this.#database.query<Delivery>(
      `WITH ${text} SELECT dashboard, run_id, status FROM wanted
      WHERE NOT EXISTS (SELECT 1 FROM bridge_deliveries AS known
        WHERE known.dashboard = wanted.dashboard AND known.run_id = wanted.run_id AND known.status = wanted.status)
      ORDER BY nth`,
      values,
    );
  }

  /**
   * Adds what is not there yet, in one commit, but for a status that the run had before one that is there: whoever saw it was slow.
   * Deliveries of a run get their numbers in the order of the commits.
   * @returns how many were added
   */
  async add(deliveries: readonly NewDelivery[]): Promise<number> {
    if (deliveries.length === 0) return 0;
    const types = { ...key, body: 'text', run_updated_at: 'text' } as const;
    const { text, values } = valuesTable('given', types, numbered(deliveries));
    return this.#database.transaction(async (sql) => {
      await sql.query(
        'INSERT INTO bridge_delivery_lock (one) VALUES (1) ON CONFLICT (one) DO UPDATE SET one = excluded.one',
      );
      const added = await sql.query(
        `WITH ${text} INSERT INTO bridge_deliveries
          (dashboard, run_id, status, body, run_updated_at, state, created_at, changed_at, due_at)
        SELECT dashboard, run_id, status, body, run_updated_at, 'pending', core_clock_ms(), core_clock_ms(), core_clock_ms()
        FROM given WHERE NOT EXISTS (SELECT 1 FROM bridge_deliveries AS later WHERE later.dashboard = given.dashboard
          AND later.run_id = given.run_id AND later.run_updated_at > given.run_updated_at)
        ORDER BY nth ON CONFLICT DO NOTHING RETURNING seq`,
        values,
      );
      return added.length;
    });
  }

  /** Why one of a dashboard failed lately; null where all goes well. */
  async problem(dashboard: string): Promise<string | null> {
    const [row] = await this.#database.query<{ reason: string }>(
      `SELECT reason FROM bridge_deliveries WHERE dashboard = $1 AND state IN ('pending', 'processing', 'dead')
        AND reason IS NOT NULL ORDER BY changed_at DESC LIMIT 1`,
      [dashboard],
    );
    return row?.reason ?? null;
  }

  /** Milliseconds since what waits longest was seen; null where nothing waits. */
  async oldestMs(dashboard: string): Promise<number | null> {
    const [row] = await this.#database.query<{ age: number }>(
      `SELECT core_clock_ms() - created_at AS age FROM bridge_deliveries
      WHERE dashboard = $1 AND state IN ('pending', 'processing') ORDER BY seq LIMIT 1`,
      [dashboard],
    );
    return row?.age ?? null;
  }
}

function numbered(deliveries: readonly Delivery[]): readonly Readonly<Record<string, unknown>>[] {
  return deliveries.map((delivery, nth) => ({ ...delivery, nth }));
}
