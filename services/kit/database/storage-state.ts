import type { Sql } from './database.ts';

/** State of a database in a move of the storage: `filling` until it is complete, `moved` after the storage moved elsewhere. */
export interface StorageState {
  readonly state: 'filling' | 'used' | 'moved';
  /** The state folder that it came from, or went to. */
  readonly installation: string;
  /** For people: `host:/home/mira/.local/state/core`. */
  readonly place: string;
  readonly at: Date;
}

/** Everything that Core keeps, but what migrations and moves note of themselves. */
export async function guardedTables(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()
     AND tablename NOT IN ('core_migrations', 'core_schemas', 'storage_state') ORDER BY tablename`,
  );
  return rows.map(({ name }) => name);
}

/** null in a database that no move ever had to do with. */
export async function readStorageState(sql: Sql): Promise<StorageState | null> {
  const [row] = await sql.query<StorageState>(
    'SELECT state, installation::text, place, at FROM storage_state',
  );
  return row ?? null;
}

/**
 * After this transaction, only the mover can write, also on connections that are open already. For `used`, every process can write
 * again.
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
  for (const table of await guardedTables(sql)) {
    await sql.query(`DROP TRIGGER IF EXISTS core_moved ON ${table}`);
    if (state !== 'used')
      await sql.query(
        `CREATE TRIGGER core_moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${table}
         FOR EACH STATEMENT EXECUTE FUNCTION core_refuse_writes()`,
      );
  }
}
