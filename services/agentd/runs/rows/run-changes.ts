import { changePosition } from '#kit/database/change-numbers.ts';
import type { Sql } from '#kit/database/database.ts';
import type { RunChanges } from '../run-store.ts';

/** Runs changed by transactions that had not ended at `position`. */
export async function changesSince(sql: Sql, position: string | null): Promise<RunChanges> {
  const here = await changePosition(sql, 'runs');
  const [server, ended] = position?.split('/') ?? [];
  const all = server !== here.server || ended === undefined || Number(ended) > here.next;
  const rows = await sql.query<{ run_id: string; size: number }>(
    // The upper bound excludes numbers of another server, which a restored backup may contain.
    `SELECT run_id, size FROM runs ${all ? '' : 'WHERE changed_in >= $1 AND changed_in < $2'}`,
    all ? [] : [Number(ended), here.next],
  );
  const sizes = new Map(rows.map(({ run_id, size }) => [run_id, size]));
  return { sizes, all, position: `${here.server}/${here.ended}` };
}
