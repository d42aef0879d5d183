import type { Sql } from './database.ts';

/**
 * An expression for the column `changed_in` of a table that readers follow: each change gets a number that no position covers which a
 * reader had before. PostgreSQL numbers transactions; SQLite has one writer, so that the next number is known.
 */
export function changeNumber({ engine }: Pick<Sql, 'engine'>, table: string): string {
  return engine === 'postgres'
    ? 'pg_current_xact_id()::text::bigint'
    : `(SELECT coalesce(max(changed_in), 0) + 1 FROM ${table})`;
}

/** A place in the changes of a table. Read it before the rows: what commits in between is found twice, never missed. */
export interface ChangePosition {
  /** Another one after a fail-over and after a crash: transactions that were lost gave their numbers back. */
  readonly server: string;
  /** Every change with a smaller number has ended. */
  readonly ended: number;
  /** No change of this server has this number or a higher one yet. */
  readonly next: number;
}

export async function changePosition(sql: Sql, table: string): Promise<ChangePosition> {
  // Below the oldest transaction under way nothing can appear any more.
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
