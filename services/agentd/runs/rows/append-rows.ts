import { changeNumber } from '#kit/database/change-numbers.ts';
import { places, type Sql } from '#kit/database/database.ts';
import type { RunEvent } from '../event.ts';
import { lineOf } from '../log/event-line.ts';
import type { Run } from '../run.ts';
import { changingColumns, keyDigestOf, summaryColumns, valuesOf } from './run-rows.ts';
import type { StoredRun } from './stored-runs.ts';

/** Columns of a run's head. */
const headColumns = ['seq', 'hash', 'type'] as const;
/** Columns of the summary that an append may change. */
const shownColumns = [...changingColumns, 'words'] as const;

/**
 * Appends the events that `after` adds to `before`. Events and head change together or not at all.
 * @returns false, without writing, if `before` is not the newest state
 */
export async function appendRows(
  sql: Sql,
  before: StoredRun,
  after: StoredRun,
  text: string,
): Promise<boolean> {
  const { run_id, head } = before.run;
  const lines = after.events.slice(head.seq);
  const { seq, hash, type } = lines.at(-1)!;
  const [old, now] = [before, after].map(({ run, size }) => valuesOf(run, size, shownColumns)) as [
    readonly unknown[],
    readonly unknown[],
  ];
  // SQLite rewrites index pages for every indexed column that is set, even to the same value.
  const changed = shownColumns.flatMap((name, index) =>
    now[index] === old[index] ? [] : [{ name, value: now[index] }],
  );
  const values = [seq, hash, type, ...changed.map(({ value }) => value)];
  const set = [...headColumns, ...changed.map(({ name }) => name)]
    .map((name, index) => `${name} = $${index + 3}`)
    .join(', ');
  const taken = await sql.query(
    `UPDATE runs SET ${set}, changed_at = core_clock_ms(), changed_in = ${changeNumber(sql, 'runs')}
     WHERE run_id = $1 AND hash = $2 AND tombstone IS NULL RETURNING 1 AS taken`,
    [run_id, head.hash, ...values],
  );
  if (taken.length === 0) return false;
  await insertLines(sql, run_id, lines, text);
  return true;
}

/** Maximum number of lines in a statement. PostgreSQL takes at most 65,535 values, SQLite 32,766. */
const maxLines = 5_000;

/** @param text the lines as in events.jsonl */
export async function insertLines(
  sql: Sql,
  runId: string,
  lines: readonly RunEvent[],
  text: string,
): Promise<void> {
  const texts = linesOf(text);
  for (let start = 0; start < lines.length; start += maxLines) {
    const rows = lines
      .slice(start, start + maxLines)
      .map(({ seq, prev, hash }, index) => [runId, seq, texts[start + index], prev, hash]);
    await sql.query(
      `INSERT INTO run_events (run_id, seq, line, prev, hash)
       VALUES ${rows.map((row, index) => `(${places(row, 1 + index * row.length)})`).join(', ')}`,
      rows.flat(),
    );
  }
}

/** Splits text into lines without line feeds. */
export function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

/** Replaces all rows of a run with the rows of these events. */
export async function replaceRows(sql: Sql, run: Run, events: readonly RunEvent[]): Promise<void> {
  const lines = events.map(lineOf);
  const size = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  const names = ['seq', 'hash', 'type', 'key_digest', ...summaryColumns];
  const key = await keyDigestOf(sql, run);
  const values = [run.run_id, run.head.seq, run.head.hash, events.at(-1)!.type, key, ...valuesOf(run, size)];
  await sql.query(
    `INSERT INTO runs (run_id, ${names.join(', ')}, changed_at, changed_in)
     VALUES (${places(values)}, core_clock_ms(), ${changeNumber(sql, 'runs')})
     ON CONFLICT (run_id) DO UPDATE SET
       ${[...names, 'changed_at', 'changed_in'].map((name) => `${name} = excluded.${name}`).join(', ')}`,
    values,
  );
  await sql.query('DELETE FROM run_events WHERE run_id = $1', [run.run_id]);
  await insertLines(sql, run.run_id, events, lines.join(''));
}
