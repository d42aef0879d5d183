import type { Sql } from './database.ts';

/**
 * SQL expression for the column `changed_in` of a table that readers follow. Each change gets a number that no earlier position of a
 * reader covers. PostgreSQL numbers transactions. SQLite has one writer, so the next number is known.
 */
export function changeNumber({ engine }: Pick<Sql, 'engine'>, table: string): string {
  return engine === 'postgres'
    ? 'pg_current_xact_id()::text::bigint'
    : `(SELECT coalesce(max(changed_in), 0) + 1 FROM ${table})`;
}

/** Position in the changes of a table. Read it before the rows, so that commits in between are found twice and never missed. */
export interface ChangePosition {
  /** Different after a failover or a crash, because numbers of lost transactions are then used again. */
  readonly server: string;
  /** All changes with a smaller number have ended. */
  readonly ended: number;
  /** No change of this server has this number or a larger number yet. */
  readonly next: number;
}

export async function changePosition(sql: Sql, table: string): Promise<ChangePosition> {
  // No further change can get a number below the oldest transaction in progress.
  const [position] = await sql.query<ChangePosition>(
    sql.engine === 'postgres'
      ? `SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM stats_reset)) AS server,
           pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS ended,
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
         FROM pg_stat_wal`
      : `SELECT '' AS server, coalesce(max(changed_in), 0) + 1 AS ended, coalesce(max(changed_in), 0) + 1 AS next FROM ${table}`,
  );
  return position!;
}
