import type { RunEvent } from '../event.ts';
import { changingColumns } from '../index/run-index.ts';
import { executorLease } from '../run-store.ts';
import { valuesOf } from './run-rows.ts';
import type { StoredRun } from './stored-runs.ts';

/** What the statement of an append answers. */
export interface AppendAnswer {
  /** False where `before` is not the newest state any more, or the lease is not held; nothing is written then. */
  readonly appended: boolean;
  /** Whether the lease of the run's executor has the token; true where there is none. */
  readonly held: boolean;
}

/** That an append waits for: the lease, and the row of the run. */
const locks = 2;

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

/** What an append changes of a run beside its head. */
const changed = [...changingColumns, 'words'] as const;
const parameters = [
  ...'run seqs lines prevs hashes before lease holder lock_ms'.split(' '),
  ...['seq', 'hash', 'type', ...changed].map((name) => `next_${name}`),
];
const statement = `SELECT * FROM core_append_events(${parameters.map((name, index) => `${name} => $${index + 1}`).join(', ')})`;

export interface Append {
  /** The newest state, or nothing is written. */
  readonly before: StoredRun;
  readonly after: StoredRun;
  /** What `after` has more, as it stands in events.jsonl. */
  readonly text: string;
  /** Of the lease of the run's executor, which must still be held; null where whoever appends took none. */
  readonly token: string | null;
  /** For how long it may wait, in all, for whoever else has the run: milliseconds. What gave up here must not happen there later. */
  readonly waitMs: number;
}

/** Events and head change together or not at all. */
export function appendStatement({
  before,
  after,
  text,
  token,
  waitMs,
}: Append): readonly [string, readonly unknown[]] {
  const { run_id, head } = before.run;
  const lines = after.events.slice(head.seq);
  const { seq, hash, type } = lines.at(-1)!;
  return [
    statement,
    [
      ...linesAsValues(run_id, lines, text),
      ...[head.hash, executorLease(run_id), token, Math.floor(waitMs / locks), seq, hash, type],
      ...valuesOf(after.run, after.size, changed),
    ],
  ];
}
