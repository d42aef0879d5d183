import type { DatabaseSync } from 'node:sqlite';
import { noUsage } from '../providers/usage.ts';
import { dayOf, timeOfCall } from './call-id.ts';
import { type CallRows, type EndedCall, type OpenCall, oldestOpen } from './call-rows.ts';

interface OpenRow {
  readonly call: number;
  readonly key: string;
  readonly run: string | null;
  readonly model: string;
  readonly upstream: string;
  readonly input: number;
  readonly output: number;
  readonly cost: number;
}

/**
 * After an end that was not orderly: calls that were open count at what was reserved for them, because what they used nobody
 * can say any more. Gives how many there were.
 * @param logged calls that began; those that ended are in the ledger
 * @param now ids may be ahead of it, where a clock was
 */
export function closeOpenCalls(
  db: DatabaseSync,
  rows: CallRows,
  logged: readonly OpenCall[],
  now: number,
): number {
  const ended = db.prepare('SELECT 1 FROM calls WHERE call = ?');
  const open = [...openRows(db), ...logged.filter(({ id }) => ended.get(id) === undefined)];
  if (open.length > 0) {
    rows.commit(
      open.map(
        (call): EndedCall => ({
          open: call,
          day: dayOf(Math.min(timeOfCall(call.id), now)),
          upstream: call.upstream,
          state: 'unsettled',
          usage: { ...noUsage, input: call.inputTokens, output: call.outputTokens },
          estimated: true,
          cost: call.reserved,
          sentBytes: 0,
          ms: 0,
          firstTokenMs: null,
        }),
      ),
      Math.max(lastCall(db), ...open.map(({ id }) => id)) + 1,
    );
  }
  return open.length;
}

/** Earlier versions kept calls under way in the table of all calls. */
function openRows(db: DatabaseSync): OpenCall[] {
  const mark = db.prepare('SELECT value FROM marks WHERE name = ?').get(oldestOpen);
  const rows = db
    .prepare(
      `SELECT call, key, run, models.name AS model, upstreams.name AS upstream, input, output, cost
      FROM calls JOIN accounts USING (account) JOIN names AS models ON models.id = model
      JOIN names AS upstreams ON upstreams.id = upstream WHERE call >= ? AND state = 0`,
    )
    .all((mark?.value as number | undefined) ?? 0) as unknown as OpenRow[];
  return rows.map(({ call, key, run, model, upstream, input, output, cost }) => ({
    id: call,
    account: { key, run, models: null, budget: null },
    model,
    upstream,
    inputTokens: input,
    outputTokens: output,
    reserved: cost,
  }));
}

/** The highest id that is taken; 0 where there is none. */
export function lastCall(db: DatabaseSync): number {
  const { last } = db.prepare('SELECT max(call) AS last FROM calls').get() as { last: number | null };
  return last ?? 0;
}
