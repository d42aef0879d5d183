import type { PostgresSettings } from '#kit/config/storage.ts';
import { createFencedLeases } from '#kit/database/fenced-leases.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { DatabaseJobs } from '#kit/jobs/database-jobs.ts';
import type { Removal } from '../../queue/pruning.ts';
import type { BridgeStorage } from '../bridge-storage.ts';
import { deliveryTable, eventTable } from '../job-tables.ts';
import { PostgresCatchUpRows } from './catch-up-rows.ts';
import { PostgresDeliveryRows } from './delivery-rows.ts';
import { PostgresEventRows } from './event-rows.ts';
import { PostgresScheduleRows } from './schedule-rows.ts';

/** Polled, not notified: each NOTIFY takes a lock that all commits of the database wait for. */
const lookMs = 1_000;

export interface PostgresStorageOptions {
  /** How long what a bridge claimed outlives it, in milliseconds. */
  readonly leaseMs?: number;
}

/** What the bridges of several hosts keep in one database. Connects with the first use. */
export function openPostgresStorage(
  settings: PostgresSettings,
  { leaseMs = 30_000 }: PostgresStorageOptions = {},
): BridgeStorage {
  const database = openPostgres(settings, 'core-bridge', { pool: 'queue' });
  const leases = createFencedLeases(database, { durationMs: leaseMs });
  const eventJobs = new DatabaseJobs(database, eventTable('bridge_events'), { leaseMs });
  const deliveryJobs = new DatabaseJobs(database, deliveryTable('bridge_deliveries'), { leaseMs });
  return {
    events: new PostgresEventRows(database),
    eventJobs,
    deliveries: new PostgresDeliveryRows(database),
    deliveryJobs,
    schedules: new PostgresScheduleRows(database, leases),
    catchUps: new PostgresCatchUpRows(database),
    lookMs,
    prune,
    async close() {
      eventJobs.close();
      deliveryJobs.close();
      await leases.close();
      await database.close();
    },
  };

  async function prune(removal: Removal): Promise<number> {
    let removed = 0;
    for (const table of ['events', 'deliveries'] as const) {
      const { endedMs, deadMs } = removal[table];
      const rows = await database.query<{ n: string }>(
        `WITH removed AS (
          DELETE FROM bridge_${table} WHERE state IN ('done', 'skipped', 'dead')
            AND changed_at < (SELECT core_clock_ms()) - $1::bigint
            AND (state <> 'dead' OR changed_at < (SELECT core_clock_ms()) - $2::bigint)
          RETURNING 1)
        SELECT count(*) AS n FROM removed`,
        [endedMs, deadMs],
      );
      removed += Number(rows[0]?.n ?? 0);
    }
    return removed;
  }
}
