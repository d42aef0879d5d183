import type { Sql } from '#kit/database/database.ts';
import type { RunChanges } from '../run-store.ts';

interface Place {
  /** Another one after a fail-over and after a crash: transactions that were lost gave their numbers back. */
  readonly server: string;
  /** Every transaction with a smaller number has ended. */
  readonly ended: string;
}

/**
 * Runs that were changed by a transaction that had not ended at `position`. A number of a transaction alone is no position, because
 * a smaller one may commit later; neither is a time. Below the oldest transaction under way nothing can appear any more.
 */
export async function changesSince(sql: Sql, position: string | null): Promise<RunChanges> {
  const here = await placeOf(sql);
  const [server, ended] = position?.split('/') ?? [];
  const all = server !== here.server || ended === undefined;
  const rows = await sql.query<{ run_id: string; size: string }>(
    all
      ? 'SELECT run_id, size FROM runs'
      : // The upper bound leaves out numbers of the server that a backup was made of.
        `SELECT run_id, size FROM runs
         WHERE changed_in >= $1::xid8 AND changed_in < pg_snapshot_xmax(pg_current_snapshot())`,
    all ? [] : [ended],
  );
  const sizes = new Map(rows.map(({ run_id, size }) => [run_id, Number(size)]));
  return { sizes, all, position: `${here.server}/${here.ended}` };
}

/** Asked for before the runs: what commits in between is found twice, never missed. */
async function placeOf(sql: Sql): Promise<Place> {
  const [place] = await sql.query<Place>(
    `SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM stats_reset)) AS server,
       pg_snapshot_xmin(pg_current_snapshot())::text AS ended
     FROM pg_stat_wal`,
  );
  return place!;
}
