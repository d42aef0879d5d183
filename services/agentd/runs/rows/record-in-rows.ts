import type { Sql } from '#kit/database/database.ts';
import { requireKept } from '../log/tombstone.ts';
import type { HeadMark, RunRecord } from '../verify/record.ts';

/** Lines of `events.jsonl` without their line feeds. A reader outside a transaction wants those up to the head that it saw. */
export async function linesOf(
  sql: Sql,
  runId: string,
  { after, upTo }: { readonly after: number; readonly upTo: number } = {
    after: 0,
    upTo: Number.MAX_SAFE_INTEGER,
  },
): Promise<string[]> {
  const rows = await sql.query<{ line: string }>(
    'SELECT line FROM run_events WHERE run_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq',
    [runId, after, upTo],
  );
  return rows.map(({ line }) => line);
}

export function logOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''));
}

/** The lines of a run up to its head; null of a run that the database does not have. */
export async function recordLines(
  sql: Sql,
  runId: string,
): Promise<(HeadMark & { readonly lines: readonly string[] }) | null> {
  const [head] = await sql.query<HeadMark>(
    'SELECT seq, hash, type FROM runs WHERE run_id = $1 AND tombstone IS NULL',
    [runId],
  );
  if (head === undefined) return null;
  return { ...head, lines: await linesOf(sql, runId, { after: 0, upTo: head.seq }) };
}

/**
 * Log and head of a run as the database holds them at one moment, sound or not; without either if it holds nothing of the run.
 * @throws NotFound (`run_pruned`)
 */
export async function recordInRows(sql: Sql, run_id: string): Promise<Omit<RunRecord, 'artifacts'>> {
  const names = { log: 'run_events', artifacts: 'run_artifacts' };
  for (let before = await headOf(sql, run_id); ; ) {
    const lines = await linesOf(sql, run_id);
    const acknowledged = await headOf(sql, run_id);
    // What is appended meanwhile would look as if nobody had acknowledged it.
    if (acknowledged?.hash !== before?.hash) {
      before = acknowledged;
      continue;
    }
    const log = lines.length === 0 && acknowledged === null ? null : logOf(lines);
    return { run_id, names, log, acknowledged };
  }
}

async function headOf(sql: Sql, runId: string): Promise<HeadMark | null> {
  const [row] = await sql.query<HeadMark & { readonly tombstone: string | null }>(
    'SELECT seq, hash, type, tombstone FROM runs WHERE run_id = $1',
    [runId],
  );
  if (row === undefined) return null;
  const { tombstone, ...head } = row;
  requireKept(runId, tombstone);
  return head;
}
