import type { Sql } from './database.ts';

/** What a move of the storage says of a database: `filling` until all is there, `moved` when it went on elsewhere. */
export interface StorageState {
  readonly state: 'filling' | 'used' | 'moved';
  /** The state folder that it came from, or went to. */
  readonly installation: string;
  /** For people: `host:/home/mira/.local/state/core`. */
  readonly place: string;
  readonly at: Date;
}

/** Everything that Core keeps, but what migrations and moves note of themselves. */
export const guardedTables = [
  ...['leases', 'runs', 'run_events', 'run_artifacts', 'run_objects'],
  ...['gateway_keys', 'gateway_balances', 'gateway_calls', 'gateway_totals'],
  ...['tokens', 'token_registry'],
  ...['bridge_events', 'bridge_deliveries', 'bridge_schedules', 'bridge_ticks', 'bridge_catch_ups'],
  ...['notification_jobs', 'notification_people', 'notification_seen', 'notification_begin'],
  ...['context_pieces', 'context_backups', 'context_records', 'context_journal'],
  ...['review_sessions', 'review_links', 'review_attempts'],
] as const;

/** null in a database that no move ever had to do with. */
export async function readStorageState(sql: Sql): Promise<StorageState | null> {
  const [row] = await sql.query<StorageState>(
    'SELECT state, installation::text, place, at FROM storage_state',
  );
  return row ?? null;
}

/**
 * From the end of this transaction on nobody but the mover writes anything, also who is connected already; or, for `used`,
 * everybody does again.
 */
export async function writeStorageState(
  sql: Sql,
  { state, installation, place }: Omit<StorageState, 'at'>,
): Promise<void> {
  await sql.query(
    `INSERT INTO storage_state (state, installation, place) VALUES ($1, $2, $3)
     ON CONFLICT (single) DO UPDATE SET state = $1, installation = $2, place = $3, at = clock_timestamp()`,
    [state, installation, place],
  );
  for (const table of guardedTables) {
    await sql.query(`DROP TRIGGER IF EXISTS core_moved ON ${table}`);
    if (state !== 'used')
      await sql.query(
        `CREATE TRIGGER core_moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${table}
         FOR EACH STATEMENT EXECUTE FUNCTION core_refuse_writes()`,
      );
  }
}
