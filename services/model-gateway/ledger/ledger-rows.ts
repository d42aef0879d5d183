import type { UsageGroup, UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import { places, rowLock, type Sql, valuesTable } from '#kit/database/database.ts';
import type { ColumnTypes } from '#kit/database/schema.ts';
import type { Account } from './accounts.ts';
import type { Balance } from './budgets.ts';
import { dollarsOf, type Money } from './money.ts';
import type { CallResult, LedgerCall, Settlement } from './settlement.ts';

/** Money is in micro-dollars, times are milliseconds since 1970 by the clock of the database, days are in UTC. */
export function ledgerTables({ text, integer, strict }: ColumnTypes): string {
  return `
    CREATE TABLE gateway_keys (
      id ${text} PRIMARY KEY,
      sha256 ${text} NOT NULL UNIQUE,
      run ${text} NOT NULL,
      models ${text},
      budget ${integer},
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      revoked_at ${integer}
    )${strict};
    CREATE INDEX gateway_keys_of_run ON gateway_keys (run);
    CREATE INDEX gateway_keys_by_end ON gateway_keys (expires_at) WHERE revoked_at IS NULL;
    -- Budgets count against these: day:2026-11-22 and run:run_0199… A change locks its balances first, in the order of names.
    CREATE TABLE gateway_balances (
      name ${text} PRIMARY KEY,
      used ${integer} NOT NULL DEFAULT 0,
      reserved ${integer} NOT NULL DEFAULT 0
    )${strict};
    -- A call in progress counts as if its gateway were killed: everything that was reserved.
    CREATE TABLE gateway_calls (
      id ${text} PRIMARY KEY,
      gateway ${text} NOT NULL,
      began_at ${integer} NOT NULL,
      day ${text} NOT NULL,
      account ${text} NOT NULL,
      run ${text},
      model ${text} NOT NULL,
      upstream ${text} NOT NULL,
      state ${text} NOT NULL CHECK (state IN ('under_way', 'done', 'aborted', 'failed', 'unsettled')),
      reserved ${integer} NOT NULL,
      input ${integer} NOT NULL,
      output ${integer} NOT NULL,
      cached ${integer} NOT NULL DEFAULT 0,
      cache_writes ${integer} NOT NULL DEFAULT 0,
      estimated ${integer} NOT NULL DEFAULT 1,
      contradictory ${integer} NOT NULL DEFAULT 0,
      cost ${integer} NOT NULL,
      sent_bytes ${integer} NOT NULL DEFAULT 0,
      ms ${integer} NOT NULL DEFAULT 0,
      first_token_ms ${integer}
    )${strict};
    CREATE INDEX gateway_calls_under_way ON gateway_calls (gateway) WHERE state = 'under_way';
    CREATE INDEX gateway_calls_by_time ON gateway_calls (began_at);
    -- Sums of the calls that ended, written in the same commit; they stay when old calls are deleted.
    CREATE TABLE gateway_totals (
      account ${text} NOT NULL,
      day ${text} NOT NULL,
      model ${text} NOT NULL,
      upstream ${text} NOT NULL,
      run ${text},
      ${sums.map((name) => `${name} ${integer} NOT NULL`).join(', ')},
      PRIMARY KEY (account, day, model, upstream)
    )${strict};
    CREATE INDEX gateway_totals_of_day ON gateway_totals (day);
    CREATE INDEX gateway_totals_of_run ON gateway_totals (run) WHERE run IS NOT NULL;`;
}

export interface NewCall extends LedgerCall {
  readonly account: Account;
  /** Maximum cost of the call. */
  readonly reserved: Money;
}

export interface OpenCall extends NewCall {
  readonly id: string;
}

export interface CallEnd
  extends Settlement,
    Pick<CallResult, 'upstream' | 'sentBytes' | 'ms' | 'firstTokenMs'> {
  readonly state: CallResult['outcome'];
}

export interface EndedCall extends CallEnd {
  readonly id: string;
  readonly run: string | null;
  readonly day: string;
}

/** By the clock of the database. */
export interface DatabaseTime {
  readonly at: number;
  /** In UTC, as YYYY-MM-DD. */
  readonly day: string;
  /** Until the day ends. */
  readonly secondsLeft: number;
}

export type Balances = Map<string, { -readonly [Member in keyof Balance]: Money }>;

const dayMs = 86_400_000;

export const dayBalance = (day: string) => `day:${day}`;
export const runBalance = (run: string) => `run:${run}`;

/** Names of the balances that a call counts against. */
export function balanceNames({ day, run }: { readonly day: string; readonly run: string | null }): string[] {
  return [dayBalance(day), ...(run === null ? [] : [runBalance(run)])];
}

/** Locks these balances and that of today until the transaction ends, all in one order to prevent deadlocks. */
export async function lockBalances(
  sql: Sql,
  names: readonly string[],
): Promise<{ readonly time: DatabaseTime; readonly balances: Balances }> {
  const [clock] = await sql.query<{ at: number }>('SELECT core_clock_ms() AS at');
  const { at } = clock!;
  const time = {
    at,
    day: new Date(at).toISOString().slice(0, 10),
    secondsLeft: (dayMs - (at % dayMs)) / 1000,
  };
  const wanted = [...new Set([...names, dayBalance(time.day)])].sort();
  for (;;) {
    const rows = await sql.query<Balance & { readonly name: string }>(
      `SELECT name, used, reserved FROM gateway_balances WHERE name IN (${places(wanted)})
      ORDER BY name ${rowLock(sql, 'FOR UPDATE')}`,
      wanted,
    );
    if (rows.length === wanted.length)
      return { time, balances: new Map(rows.map(({ name, used, reserved }) => [name, { used, reserved }])) };
    const { text, values } = valuesTable(
      'wanted',
      { name: 'text' },
      wanted.map((name) => ({ name })),
    );
    await sql.query(
      `WITH ${text} INSERT INTO gateway_balances (name) SELECT name FROM wanted WHERE true ON CONFLICT DO NOTHING`,
      values,
    );
  }
}

/** Call it with the balances locked. */
export async function writeBalances(sql: Sql, balances: Balances): Promise<void> {
  const { text, values } = valuesTable(
    'changed',
    { name: 'text', used: 'bigint', reserved: 'bigint' },
    [...balances].map(([name, balance]) => ({ name, ...balance })),
  );
  await sql.query(
    `WITH ${text} UPDATE gateway_balances SET used = changed.used, reserved = changed.reserved
    FROM changed WHERE gateway_balances.name = changed.name`,
    values,
  );
}

const callColumns = {
  id: 'text',
  gateway: 'text',
  began_at: 'bigint',
  day: 'text',
  state: 'text',
  account: 'text',
  run: 'text',
  model: 'text',
  upstream: 'text',
  reserved: 'bigint',
  cost: 'bigint',
  input: 'bigint',
  output: 'bigint',
} as const;

export async function openCalls(
  sql: Sql,
  calls: readonly OpenCall[],
  { gateway, time }: { readonly gateway: string; readonly time: DatabaseTime },
): Promise<void> {
  if (calls.length === 0) return;
  const { text, values } = valuesTable(
    'opening',
    callColumns,
    calls.map(({ id, account, model, upstream, reserved, inputTokens, outputTokens }) => ({
      ...{ id, gateway, began_at: time.at, day: time.day, state: 'under_way', model, upstream },
      ...{ account: account.key, run: account.run, reserved, cost: reserved },
      ...{ input: inputTokens, output: outputTokens },
    })),
  );
  const names = Object.keys(callColumns).join(', ');
  await sql.query(`WITH ${text} INSERT INTO gateway_calls (${names}) SELECT ${names} FROM opening`, values);
}

const endColumns = {
  upstream: 'text',
  state: 'text',
  input: 'bigint',
  output: 'bigint',
  cached: 'bigint',
  cache_writes: 'bigint',
  estimated: 'bigint',
  contradictory: 'bigint',
  cost: 'bigint',
  sent_bytes: 'bigint',
  ms: 'bigint',
  first_token_ms: 'bigint',
} as const;

/** Has no effect on calls that ended before. Call it with the balances locked. */
export async function endCalls(sql: Sql, calls: readonly EndedCall[], balances: Balances): Promise<void> {
  if (calls.length === 0) return;
  const { text, values } = valuesTable(
    'ending',
    { id: 'text', ...endColumns },
    calls.map(({ id, usage, ...call }) => ({
      ...{ id, upstream: call.upstream, state: call.state },
      ...{ input: usage.input, output: usage.output, cached: usage.cached, cache_writes: usage.cache_writes },
      ...{ estimated: Number(call.estimated), contradictory: Number(usage.contradictory === true) },
      ...{ cost: call.cost, sent_bytes: call.sentBytes, ms: call.ms, first_token_ms: call.firstTokenMs },
    })),
  );
  const set = Object.keys(endColumns).map((name) => `${name} = ending.${name}`);
  const ended = await sql.query<CallRow>(
    `WITH ${text} UPDATE gateway_calls SET ${set.join(', ')} FROM ending
    WHERE gateway_calls.id = ending.id AND gateway_calls.state = 'under_way' RETURNING ${counted}`,
    values,
  );
  await count(sql, ended, balances);
}

/**
 * Ends the calls that a gateway left in progress, at what was reserved: their usage is unknown. Call it with the balances locked that
 * `balancesOf` names.
 * @param kept its calls that are in progress
 * @returns the number of calls
 */
export async function settleCutOff(
  sql: Sql,
  gateway: string,
  { balances, kept }: { readonly balances: Balances; readonly kept: readonly string[] },
): Promise<number> {
  const others = kept.length === 0 ? '' : `AND id NOT IN (${places(kept, 2)})`;
  const ended = await sql.query<CallRow>(
    `UPDATE gateway_calls SET state = 'unsettled' WHERE gateway = $1 AND state = 'under_way' ${others} RETURNING ${counted}`,
    [gateway, ...kept],
  );
  await count(sql, ended, balances);
  return ended.length;
}

/** Names of the balances of a gateway's calls in progress. */
export async function balancesOf(sql: Sql, gateway: string): Promise<string[]> {
  const rows = await sql.query<{ day: string; run: string | null }>(
    "SELECT DISTINCT day, run FROM gateway_calls WHERE gateway = $1 AND state = 'under_way'",
    [gateway],
  );
  return rows.flatMap(balanceNames);
}

/** Gateways with calls in progress. */
export async function gatewaysWithCalls(sql: Sql): Promise<string[]> {
  const rows = await sql.query<{ gateway: string }>(
    "SELECT DISTINCT gateway FROM gateway_calls WHERE state = 'under_way' ORDER BY gateway",
  );
  return rows.map(({ gateway }) => gateway);
}

/** Deletes calls that may have been recorded and were not made. Call it with the balances locked. */
export async function forgetCalls(sql: Sql, ids: readonly string[], balances: Balances): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql.query<Pick<CallRow, 'day' | 'run' | 'reserved'>>(
    `DELETE FROM gateway_calls WHERE id IN (${places(ids)}) AND state = 'under_way' RETURNING day, run, reserved`,
    ids,
  );
  for (const row of rows) settle({ ...row, cost: 0 }, balances);
}

/** Amount reserved for a call in progress; null if it has ended. */
export async function reservedFor(sql: Sql, id: string): Promise<Money | null> {
  const [row] = await sql.query<{ reserved: Money }>(
    "SELECT reserved FROM gateway_calls WHERE id = $1 AND state = 'under_way'",
    [id],
  );
  return row?.reserved ?? null;
}

export async function raise(sql: Sql, id: string, reserved: Money): Promise<void> {
  await sql.query('UPDATE gateway_calls SET reserved = $2, cost = $2 WHERE id = $1', [id, reserved]);
}

const groups: Readonly<Record<UsageGroup, string>> = {
  run: 'coalesce(run, account)',
  model: 'model',
  day: 'day',
};

export interface UsageQuestion {
  readonly by: UsageGroup;
  /** Days, both included; null is no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Only this run; null: all. */
  readonly run: string | null;
}

export async function usage(sql: Sql, { by, from, to, run }: UsageQuestion): Promise<UsageLine[]> {
  const sum = (name: string) => `CAST(sum(${name}) AS bigint)`;
  const rows = await sql.query<UsageLine & { readonly cost: Money }>(
    `SELECT ${groups[by]} AS name, ${sum('calls')} AS calls, ${sum('aborted')} AS aborted, ${sum('failed')} AS failed,
      ${sum('estimated')} AS estimated, ${sum('unsettled')} AS unsettled, ${sum('input')} AS input_tokens,
      ${sum('output')} AS output_tokens, ${sum('cached')} AS cached_tokens, ${sum('cache_writes')} AS cache_write_tokens,
      ${sum('contradictory')} AS contradictory, ${sum('cost')} AS cost
    FROM gateway_totals
    WHERE (CAST($1 AS text) IS NULL OR day >= $1) AND (CAST($2 AS text) IS NULL OR day <= $2)
      AND (CAST($3 AS text) IS NULL OR run = $3)
    GROUP BY 1 ORDER BY ${by === 'day' ? '1 DESC' : 'sum(cost) DESC, sum(calls) DESC, 1'}`,
    [from, to, run],
  );
  return rows.map((row) => ({ ...row, cost: dollarsOf(row.cost) }));
}

/** Maximum number of calls that one statement deletes. */
const maxForgotten = 5_000;

/** Deletes calls that ended and began more than `ms` ago; keeps their sums. */
export async function forgetOld(sql: Sql, ms: number): Promise<void> {
  await sql.query(
    `DELETE FROM gateway_calls WHERE id IN
      (SELECT id FROM gateway_calls WHERE began_at < (SELECT core_clock_ms()) - $1 AND state <> 'under_way'
      LIMIT ${maxForgotten} ${rowLock(sql, 'FOR UPDATE SKIP LOCKED')})`,
    [ms],
  );
}

const totalsKey = ['account', 'day', 'model', 'upstream'] as const;
const added = ['estimated', 'input', 'output', 'cached', 'cache_writes', 'cost', 'contradictory'] as const;
const states = ['aborted', 'failed', 'unsettled'] as const;
const sums = ['calls', ...states, ...added] as const;

interface CallRow
  extends Readonly<Record<(typeof totalsKey)[number] | 'state', string>>,
    Readonly<Record<(typeof added)[number], number>> {
  readonly run: string | null;
  readonly reserved: Money;
}

const counted = [...totalsKey, 'run', 'state', 'reserved', ...added]
  .map((name) => `gateway_calls.${name} AS ${name}`)
  .join(', ');

/** Adds calls that ended to the totals, and to what was used. */
async function count(sql: Sql, ended: readonly CallRow[], balances: Balances): Promise<void> {
  if (ended.length === 0) return;
  for (const row of ended) settle(row, balances);
  const totals = [
    ...Map.groupBy(ended, (row) => JSON.stringify(totalsKey.map((name) => row[name]))).values(),
  ];
  const { text, values } = valuesTable(
    'ended',
    {
      ...{ account: 'text', day: 'text', model: 'text', upstream: 'text', run: 'text' },
      ...(Object.fromEntries(sums.map((name) => [name, 'bigint'])) as Record<
        (typeof sums)[number],
        'bigint'
      >),
    },
    totals.map(totalOf),
  );
  const names = [...totalsKey, 'run', ...sums].join(', ');
  await sql.query(
    `WITH ${text} INSERT INTO gateway_totals (${names}) SELECT ${names} FROM ended WHERE true
    ON CONFLICT (${totalsKey.join(', ')}) DO UPDATE SET
      ${sums.map((name) => `${name} = gateway_totals.${name} + excluded.${name}`).join(', ')}`,
    values,
  );
}

function totalOf(calls: readonly CallRow[]): Record<string, string | number | null> {
  const { account, day, model, upstream, run } = calls[0]!;
  const ofState = (state: string) => calls.filter((call) => call.state === state).length;
  const sum = (name: (typeof added)[number]) => calls.reduce((all, call) => all + call[name], 0);
  return {
    ...{ account, day, model, upstream, run, calls: calls.length },
    ...Object.fromEntries(states.map((state) => [state, ofState(state)])),
    ...Object.fromEntries(added.map((name) => [name, sum(name)])),
  };
}

function settle(
  { day, run, reserved, cost }: Pick<CallRow, 'day' | 'run' | 'reserved' | 'cost'>,
  balances: Balances,
): void {
  for (const name of balanceNames({ day, run })) {
    const balance = balances.get(name)!;
    balance.reserved -= reserved;
    balance.used += cost;
  }
}
