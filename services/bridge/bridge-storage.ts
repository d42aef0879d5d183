import type { Database } from '#kit/database/database.ts';
import { openDatabase } from '#kit/database/open-database.ts';
import type { Folders } from '#kit/folders.ts';
import { DatabaseJobs } from '#kit/jobs/database-jobs.ts';
import type { FolderHold } from '#kit/storage/lock.ts';
import { EventRows, eventTable } from './queue/event-rows.ts';
import type { Removal } from './queue/pruning.ts';
import { ScheduleRows } from './schedules/schedule-rows.ts';
import { bridgeSchema, holdQueueFile } from './schema.ts';
import { CatchUpRows } from './sync/catch-up-rows.ts';
import { DeliveryRows, deliveryTable } from './sync/delivery-rows.ts';

export interface BridgeStorageOptions {
  /** Lease of a claim, in milliseconds: how long it outlives its holder. */
  readonly leaseMs?: number;
  /** Released when the storage is closed. */
  readonly hold?: Pick<FolderHold, 'release'>;
}

/** Everything that the bridge keeps. */
export class BridgeStorage {
  readonly events: EventRows;
  readonly eventJobs: DatabaseJobs;
  readonly deliveries: DeliveryRows;
  readonly deliveryJobs: DatabaseJobs;
  readonly schedules: ScheduleRows;
  readonly catchUps: CatchUpRows;
  readonly #database: Database;
  readonly #hold: BridgeStorageOptions['hold'];

  constructor(database: Database, { hold, ...options }: BridgeStorageOptions = {}) {
    this.#database = database;
    this.#hold = hold;
    this.events = new EventRows(database);
    this.eventJobs = new DatabaseJobs(database, eventTable, options);
    this.deliveries = new DeliveryRows(database);
    this.deliveryJobs = new DatabaseJobs(database, deliveryTable, options);
    this.schedules = new ScheduleRows(database, options);
    this.catchUps = new CatchUpRows(database);
  }

  /** @returns number of rows removed */
  async prune(removal: Removal): Promise<number> {
    let removed = 0;
    for (const table of ['events', 'deliveries'] as const) {
      const { endedMs, deadMs } = removal[table];
      const rows = await this.#database.write(
        `DELETE FROM bridge_${table} WHERE state IN ('done', 'skipped', 'dead')
          AND changed_at < (SELECT core_clock_ms()) - $1
          AND (state <> 'dead' OR changed_at < (SELECT core_clock_ms()) - $2) RETURNING seq`,
        [endedMs, deadMs],
      );
      removed += rows.length;
    }
    return removed;
  }

  async close(): Promise<void> {
    this.eventJobs.close();
    this.deliveryJobs.close();
    this.schedules.close();
    await this.#database.close();
    this.#hold?.release();
  }
}

/**
 * Opens the tables where `storage` of core.json puts them. A file is held and read immediately; a database is connected to later.
 * @throws Conflict (`queue_held`, `storage_moved`), Failed (`queue_damaged`, `queue_newer` …), DatabaseDiskFull
 */
export async function openBridgeStorage(folders: Pick<Folders, 'config' | 'state'>): Promise<BridgeStorage> {
  const database = await openDatabase(folders, bridgeSchema, { application: 'core-bridge', pool: 'queue' });
  if (database.engine === 'postgres') return new BridgeStorage(database);
  const hold = holdQueueFile(folders.state);
  try {
    await database.query('SELECT 1 AS one');
    return new BridgeStorage(database, { hold });
  } catch (error) {
    await database.close();
    hold.abandon();
    throw error;
  }
}
