import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { UsageGroup, UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import { dollarsOf } from './money.ts';

export interface UsageQuestion {
  readonly by: UsageGroup;
  /** Days, both included; null is no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Of one run alone; null: of all. */
  readonly run: string | null;
}

export type UsageRow = UsageLine;

const groups: Readonly<Record<UsageGroup, string>> = {
  run: 'coalesce(accounts.run, accounts.key)',
  model: 'models.name',
  day: 'totals.day',
};

/** Most expensive first; days newest first. */
export function readUsage(db: DatabaseSync, { by, from, to, run }: UsageQuestion): UsageRow[] {
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  const when = (condition: string, value: string | null) => {
    if (value === null) return;
    conditions.push(condition);
    values.push(value);
  };
  when('totals.day >= ?', from);
  when('totals.day <= ?', to);
  when('accounts.run = ?', run);
  const rows = db
    .prepare(
      `SELECT ${groups[by]} AS name, sum(calls) AS calls, sum(aborted) AS aborted, sum(failed) AS failed,
        sum(estimated) AS estimated, sum(unsettled) AS unsettled, sum(input) AS input, sum(output) AS output,
        sum(cached) AS cached, sum(cache_writes) AS cache_writes, sum(cost) AS cost
      FROM totals JOIN accounts USING (account) JOIN names AS models ON models.id = totals.model
      ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
      GROUP BY 1 ORDER BY ${by === 'day' ? 'name DESC' : 'cost DESC, calls DESC, name'}`,
    )
    .all(...values);
  return rows.map((row) => lineOf(row as unknown as SummedRow));
}

interface SummedRow {
  readonly name: string;
  readonly calls: number;
  readonly aborted: number;
  readonly failed: number;
  readonly estimated: number;
  readonly unsettled: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cache_writes: number;
  readonly cost: number;
}

function lineOf(row: SummedRow): UsageRow {
  const { input, output, cached, cache_writes, cost, ...counted } = row;
  return {
    ...counted,
    input_tokens: input,
    output_tokens: output,
    cached_tokens: cached,
    cache_write_tokens: cache_writes,
    cost: dollarsOf(cost),
  };
}

export function totalOf(rows: readonly UsageRow[]): UsageRow {
  const sum = (pick: (row: UsageRow) => number) => rows.reduce((total, row) => total + pick(row), 0);
  return {
    name: 'total',
    calls: sum((row) => row.calls),
    aborted: sum((row) => row.aborted),
    failed: sum((row) => row.failed),
    estimated: sum((row) => row.estimated),
    unsettled: sum((row) => row.unsettled),
    input_tokens: sum((row) => row.input_tokens),
    output_tokens: sum((row) => row.output_tokens),
    cached_tokens: sum((row) => row.cached_tokens),
    cache_write_tokens: sum((row) => row.cache_write_tokens),
    cost: Math.round(sum((row) => row.cost) * 1_000_000) / 1_000_000,
  };
}
