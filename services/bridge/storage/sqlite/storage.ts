import { SqliteJobs } from '#kit/jobs/sqlite-jobs.ts';
import type { BridgeStorage } from '../bridge-storage.ts';
import { deliveryTable, eventTable } from '../job-tables.ts';
import { SqliteCatchUpRows } from './catch-up-rows.ts';
import { type BridgeDatabase, openBridgeDatabase, prune, queueError } from './database.ts';
import { SqliteDeliveryRows } from './delivery-rows.ts';
import { SqliteEventRows } from './event-rows.ts';
import { SqliteScheduleRows } from './schedule-rows.ts';

/** This process alone has it: whatever comes is known here. */
const lookMs = 30_000;

/** What the bridge of one machine keeps, in `<state>/bridge/queue.sqlite`. @throws as `openBridgeDatabase` */
export function openSqliteStorage(
  state: string,
  now: () => number = Date.now,
): BridgeStorage & { readonly database: BridgeDatabase } {
  const database = openBridgeDatabase(state);
  const { db, path } = database;
  const options = { now, explain: (error: unknown) => queueError(error, path) };
  return {
    database,
    events: new SqliteEventRows(database, now),
    eventJobs: new SqliteJobs(db, eventTable('events'), options),
    deliveries: new SqliteDeliveryRows(db, now),
    deliveryJobs: new SqliteJobs(db, deliveryTable('deliveries'), options),
    schedules: new SqliteScheduleRows(db, now),
    catchUps: new SqliteCatchUpRows(db, now),
    lookMs,
    prune: async (removal) => prune(db, removal, now()),
    close: async () => database.close(),
  };
}
