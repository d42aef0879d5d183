import type { RunEvent } from '../event.ts';
import { executorLease } from '../run-store.ts';
import { summaryColumns, valuesOf } from './run-rows.ts';
import type { StoredRun } from './stored-runs.ts';

/** What the statement of an append answers. */
export interface AppendAnswer {
  /** False where `before` is not the newest state any more, or the lease is not held; nothing is written then. */
  readonly appended: boolean;
  /** Whether the lease of the run's executor has the token. */
  readonly held: boolean;
}

export const addLines = `INSERT INTO run_events (run_id, seq, line, prev, hash)
  SELECT $1, * FROM unnest($2::int[], $3::text[], $4::text[], $5::text[])`;

/** @param text the lines as they stand in events.jsonl */
export function linesAsValues(runId: string, lines: readonly RunEvent[], text: string): readonly unknown[] {
  return [
    runId,
    lines.map(({ seq }) => seq),
    text.split('\n').slice(0, -1),
    lines.map(({ prev }) => prev),
    lines.map(({ hash }) => hash),
  ];
}

const summary = summaryColumns.map((name, index) => `${name} = $${index + 12}`).join(', ');

// The lease is locked before the row of the run, as wherever both are: nobody takes it over before this ends.
const statement = `WITH lease AS (
    SELECT FROM leases WHERE name = $10 AND token = $11 FOR SHARE
  ), head AS (
    UPDATE runs SET seq = $6, hash = $7, type = $8, changed_at = clock_timestamp(), ${summary}
    WHERE run_id = $1 AND hash = $9 AND tombstone IS NULL AND ($11::uuid IS NULL OR EXISTS (SELECT FROM lease))
    RETURNING run_id
  ), lines AS (
    ${addLines} WHERE EXISTS (SELECT FROM head)
  )
  SELECT EXISTS (SELECT FROM head) AS appended, EXISTS (SELECT FROM lease) AS held`;

export interface Append {
  /** The newest state, or nothing is written. */
  readonly before: StoredRun;
  readonly after: StoredRun;
  /** What `after` has more, as it stands in events.jsonl. */
  readonly text: string;
  /** Of the lease of the run's executor, which must still be held; null where whoever appends took none. */
  readonly token: string | null;
}

/** Events and head change together or not at all. */
export function appendStatement({
  before,
  after,
  text,
  token,
}: Append): readonly [string, readonly unknown[]] {
  const { run_id, head } = before.run;
  const lines = after.events.slice(head.seq);
  const { seq, hash, type } = lines.at(-1)!;
  return [
    statement,
    [
      ...linesAsValues(run_id, lines, text),
      ...[seq, hash, type, head.hash, executorLease(run_id), token],
      ...valuesOf(after.run, after.size),
    ],
  ];
}
