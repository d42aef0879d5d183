import type { Sql } from '#kit/database/database.ts';
import type { FoundProblem } from '../../agent.ts';
import type { RunEvent } from '../event.ts';
import { lineOf } from '../log/event-line.ts';
import { fold } from '../log/fold.ts';
import { requireKept } from '../log/tombstone.ts';
import type { HeadMark, RunRecord } from '../verify/record.ts';
import { keyDigestOf, summaryColumns, valuesOf } from './run-rows.ts';

/** Row of `run_events`: a line of `events.jsonl` without its line feed, and its place in the chain. */
export interface EventRow {
  readonly seq: number;
  readonly line: string;
  readonly prev: string;
  readonly hash: string;
}

const all = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

/** Rows in order. Outside a transaction, `upTo` must be the head that was read, because more events may follow. */
export function eventRows(
  sql: Sql,
  runId: string,
  { after, upTo }: { readonly after: number; readonly upTo: number } = all,
): Promise<EventRow[]> {
  return sql.query<EventRow>(
    'SELECT seq, line, prev, hash FROM run_events WHERE run_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq',
    [runId, after, upTo],
  );
}

export function logOf(rows: readonly EventRow[]): Buffer {
  return Buffer.from(rows.map(({ line }) => `${line}\n`).join(''));
}

/** Lines of a run up to its head; null if the database does not have the run. */
export async function recordLines(
  sql: Sql,
  runId: string,
): Promise<(HeadMark & { readonly log: Uint8Array }) | null> {
  const [head] = await sql.query<HeadMark>(
    'SELECT seq, hash, type FROM runs WHERE run_id = $1 AND tombstone IS NULL',
    [runId],
  );
  if (head === undefined) return null;
  return { ...head, log: logOf(await eventRows(sql, runId, { after: 0, upTo: head.seq })) };
}

/**
 * Log and head of a run at one moment, sound or not. Both are null if the database has nothing of the run.
 * @throws NotFound (`run_pruned`)
 */
export async function recordInRows(sql: Sql, run_id: string): Promise<Omit<RunRecord, 'artifacts'>> {
  const names = { log: 'run_events', artifacts: 'run_artifacts' };
  for (let before = await headOf(sql, run_id); ; ) {
    const rows = await eventRows(sql, run_id);
    const acknowledged = await headOf(sql, run_id);
    // Events appended between the reads would look as if they were never acknowledged.
    if (acknowledged?.hash !== before?.hash) {
      before = acknowledged;
      continue;
    }
    const log = rows.length === 0 && acknowledged === null ? null : logOf(rows);
    const problems = columnProblems(rows);
    if (acknowledged === null && log !== null)
      problems.push({
        where: 'runs',
        what: `the row of the run is gone, and ${rows.length} of its events are there`,
      });
    return { run_id, names, log, acknowledged, problems };
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

function columnProblems(rows: readonly EventRow[]): FoundProblem[] {
  return rows.flatMap(({ seq, line, prev, hash }, index) =>
    line.startsWith(`{"seq":${seq},`) && line.endsWith(`"prev":"${prev}","hash":"${hash}"}`)
      ? []
      : [
          {
            where: `run_events line ${index + 1}`,
            what: 'its columns seq, prev and hash are not those of the line',
          },
        ],
  );
}

/** Differences between the run's row, which lists show, and its events. @param events all events of the run, sound */
export async function summaryProblems(
  sql: Sql,
  runId: string,
  events: readonly RunEvent[],
): Promise<FoundProblem[]> {
  const names = ['key_digest', ...summaryColumns];
  const [row] = await sql.query<Record<string, unknown>>(
    `SELECT hash, ${names.join(', ')} FROM runs WHERE run_id = $1`,
    [runId],
  );
  // The run has changed since its events were read.
  if (row === undefined || row.hash !== events.at(-1)?.hash) return [];
  const size = events.reduce((sum, event) => sum + Buffer.byteLength(lineOf(event)), 0);
  const run = fold(runId, events);
  const expected = [await keyDigestOf(sql, run), ...valuesOf(run, size)];
  return names.flatMap((name, index) =>
    row[name] === expected[index]
      ? []
      : [
          {
            where: `runs ${name}`,
            what: `says ${JSON.stringify(row[name])}, and the events ${JSON.stringify(expected[index])}`,
          },
        ],
  );
}
