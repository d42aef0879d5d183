import type { DatabaseSync } from 'node:sqlite';
import type { Account } from './account.ts';
import { type CallRows, type EndedCall, oldestOpen } from './call-rows.ts';

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
 */
export function closeOpenCalls(db: DatabaseSync, rows: CallRows): number {
  const mark = db.prepare('SELECT value FROM marks WHERE name = ?').get(oldestOpen);
  const open = db
    .prepare(
      `SELECT call, key, run, models.name AS model, upstreams.name AS upstream, input, output, cost
      FROM calls JOIN accounts USING (account) JOIN names AS models ON models.id = model
      JOIN names AS upstreams ON upstreams.id = upstream WHERE call >= ? AND state = 0`,
    )
    .all((mark?.value as number | undefined) ?? 0) as unknown as OpenRow[];
  if (open.length === 0) return 0;
  rows.commit(
    [],
    open.map(({ call, key, run, model, upstream, input, output, cost }): EndedCall => {
      const account: Account = { key, run, models: null, budget: null };
      return {
        open: {
          id: call,
          account,
          model,
          upstream,
          inputTokens: input,
          outputTokens: output,
          reserved: cost,
        },
        upstream,
        state: 'unsettled',
        usage: { input, output, cached: 0, cache_writes: 0 },
        estimated: true,
        cost,
        sentBytes: 0,
        ms: 0,
        firstTokenMs: null,
      };
    }),
    lastCall(db) + 1,
  );
  return open.length;
}

/** The highest id that is taken; 0 where there is none. */
export function lastCall(db: DatabaseSync): number {
  const { last } = db.prepare('SELECT max(call) AS last FROM calls').get() as { last: number | null };
  return last ?? 0;
}
