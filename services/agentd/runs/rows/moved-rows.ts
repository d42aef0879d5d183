import type { Sql } from '#kit/database/database.ts';
import { prunedRow } from '../index/row-reader.ts';
import type { Tombstone } from '../log/open-runs.ts';
import { summaryColumns, valuesOfRow } from './run-rows.ts';

export async function putRun(
  sql: Sql,
  row: {
    readonly runId: string;
    readonly head: { readonly seq: number; readonly hash: string };
    readonly type: string;
    readonly changedAt: Date;
    readonly tombstone: Tombstone | null;
    /** As `summaryColumns` names them. */
    readonly values: readonly unknown[];
  },
): Promise<void> {
  const { runId, head, type, changedAt, tombstone } = row;
  const all = [runId, head.seq, head.hash, type, changedAt, tombstone, ...row.values];
  await sql.query(
    `INSERT INTO runs (run_id, seq, hash, type, changed_at, tombstone, ${summaryColumns.join(', ')})
     VALUES (${all.map((_, at) => `$${at + 1}`).join(', ')})`,
    all,
  );
}

export async function removeRows(sql: Sql, runId: string): Promise<void> {
  // The next pruning deletes them from the bucket.
  await sql.query("UPDATE run_objects SET state = 'going' WHERE run_id = $1", [runId]);
  for (const table of ['run_events', 'run_artifacts', 'runs'])
    await sql.query(`DELETE FROM ${table} WHERE run_id = $1`, [runId]);
}

export async function putTombstone(sql: Sql, tombstone: Tombstone): Promise<void> {
  const { run_id, events, head, pruned_at } = tombstone;
  await putRun(sql, {
    ...{
      runId: run_id,
      head: { seq: events, hash: head },
      type: '',
      changedAt: new Date(pruned_at),
      tombstone,
    },
    values: valuesOfRow(prunedRow(tombstone)),
  });
}
