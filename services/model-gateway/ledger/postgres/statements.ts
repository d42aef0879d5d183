import type { UsageGroup, UsageLine } from '#kit/contracts/model-gateway/usage.ts';
import type { Sql } from '#kit/database/database.ts';
import type { Balance } from '../budgets.ts';
import type { Money } from '../money.ts';
import type { CallEnd, NewCall, UsageQuestion } from '../store.ts';

export interface OpenCall extends NewCall {
  readonly id: string;
}

export interface EndedCall extends CallEnd {
  readonly id: string;
  readonly run: string | null;
  readonly day: string;
}

/** By the server's clock. */
export interface Moment {
  readonly at: Date;
  /** In UTC, as YYYY-MM-DD. */
  readonly day: string;
  /** Until the day ends. */
  readonly secondsLeft: number;
}

export type Balances = Map<string, { -readonly [Member in keyof Balance]: Money }>;

export const dayBalance = (day: string) => `day:${day}`;
export const runBalance = (run: string) => `run:${run}`;

/** When the transaction began. */
const today = "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')";

interface Locked extends Moment, Balance {
  readonly name: string;
}

/** Locks these balances and that of today until the transaction ends, all in one order, so that nobody waits for each other. */
export async function lockBalances(
  sql: Sql,
  names: readonly string[],
): Promise<{ readonly moment: Moment; readonly balances: Balances }> {
  for (;;) {
    const rows = await sql.query<Locked>(
      `SELECT name, used::float8 AS used, reserved::float8 AS reserved, now() AS at, ${today} AS day,
         (86400 - extract(epoch FROM now())::numeric % 86400)::float8 AS "secondsLeft"
       FROM gateway_balances WHERE name = ANY($1::text[] || ('day:' || ${today})) ORDER BY name FOR UPDATE`,
      [names],
    );
    const balances: Balances = new Map(rows.map(({ name, used, reserved }) => [name, { used, reserved }]));
    const [first] = rows;
    if (first !== undefined && [...names, dayBalance(first.day)].every((name) => balances.has(name)))
      return { moment: first, balances };
    await sql.query(
      `INSERT INTO gateway_balances (name) SELECT DISTINCT name FROM unnest($1::text[] || ('day:' || ${today})) AS name
       ORDER BY name ON CONFLICT DO NOTHING`,
      [names],
    );
  }
}

/** Calls begin, and balances become what they are now. To be run with the balances locked. */
export async function openCalls(
  sql: Sql,
  calls: readonly OpenCall[],
  { gateway, moment, balances }: { gateway: string; moment: Moment; balances: Balances },
): Promise<void> {
  const names = [...balances.keys()];
  await sql.query(
    `WITH opened AS (
       INSERT INTO gateway_calls (id, gateway, began_at, day, state, account, run, model, upstream, reserved, cost, input, output)
       SELECT id, $1, $2, $3, 'under_way', account, run, model, upstream, reserved, reserved, input, output
       FROM unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[])
         AS opening (id, account, run, model, upstream, reserved, input, output))
     UPDATE gateway_balances SET used = changed.used, reserved = changed.reserved
     FROM unnest($12::text[], $13::bigint[], $14::bigint[]) AS changed (name, used, reserved)
     WHERE gateway_balances.name = changed.name`,
    [
      ...[gateway, moment.at, moment.day],
      ...[calls.map(({ id }) => id), calls.map(({ account }) => account.key)],
      ...[calls.map(({ account }) => account.run), calls.map(({ model }) => model)],
      ...[calls.map(({ upstream }) => upstream), calls.map(({ reserved }) => reserved)],
      ...[calls.map(({ inputTokens }) => inputTokens), calls.map(({ outputTokens }) => outputTokens)],
      ...[names, names.map((name) => balances.get(name)!.used)],
      names.map((name) => balances.get(name)!.reserved),
    ],
  );
}

const sums = [
  ...['calls', 'aborted', 'failed', 'estimated', 'unsettled'],
  ...['input', 'output', 'cached', 'cache_writes', 'cost', 'contradictory'],
];
const ofState = (state: string) => `count(*) FILTER (WHERE state = '${state}')`;

/** Adds what `ended` says to the totals, and gives what it changes of balances. */
const summed = `
  totals AS (
    INSERT INTO gateway_totals (account, day, model, upstream, run, ${sums.join(', ')})
    SELECT account, day, model, upstream, min(run), count(*), ${ofState('aborted')}, ${ofState('failed')},
      count(*) FILTER (WHERE estimated), ${ofState('unsettled')},
      sum(input), sum(output), sum(cached), sum(cache_writes), sum(cost), count(*) FILTER (WHERE contradictory)
    FROM ended GROUP BY account, day, model, upstream ORDER BY account, day, model, upstream
    ON CONFLICT (account, day, model, upstream) DO UPDATE SET
      ${sums.map((name) => `${name} = gateway_totals.${name} + excluded.${name}`).join(', ')})
  SELECT day, run, count(*)::int AS calls, sum(reserved)::float8 AS reserved, sum(cost)::float8 AS cost
  FROM ended GROUP BY day, run`;

interface Ended {
  readonly day: string;
  readonly run: string | null;
  readonly calls: number;
  readonly reserved: Money;
  readonly cost: Money;
}

/** Calls that have ended already stay as they are. To be run with the balances locked. */
export async function endCalls(sql: Sql, calls: readonly EndedCall[], balances: Balances): Promise<void> {
  const rows = await sql.query<Ended>(
    `WITH ended AS (
       UPDATE gateway_calls AS calls SET upstream = ending.upstream, state = ending.state, input = ending.input,
         output = ending.output, cached = ending.cached, cache_writes = ending.cache_writes, estimated = ending.estimated,
         cost = ending.cost, sent_bytes = ending.sent_bytes, ms = ending.ms, first_token_ms = ending.first_token_ms,
         contradictory = ending.contradictory
       FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[],
         $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::boolean[])
         AS ending (id, upstream, state, input, output, cached, cache_writes, estimated, cost, sent_bytes, ms, first_token_ms,
           contradictory)
       WHERE calls.id = ending.id AND calls.state = 'under_way'
       RETURNING calls.*), ${summed}`,
    [
      ...[calls.map(({ id }) => id), calls.map(({ upstream }) => upstream), calls.map(({ state }) => state)],
      ...[calls.map(({ usage }) => usage.input), calls.map(({ usage }) => usage.output)],
      ...[calls.map(({ usage }) => usage.cached), calls.map(({ usage }) => usage.cache_writes)],
      ...[calls.map(({ estimated }) => estimated), calls.map(({ cost }) => cost)],
      ...[calls.map(({ sentBytes }) => sentBytes), calls.map(({ ms }) => ms)],
      calls.map(({ firstTokenMs }) => firstTokenMs),
      calls.map(({ usage }) => usage.contradictory === true),
    ],
  );
  settle(rows, balances);
}

/**
 * Ends what a gateway left under way, at what was reserved: nobody can say any more what it used. To be run with the balances locked
 * that `balancesOf` names.
 * @param kept calls of it that are under way
 * @returns how many calls there were
 */
export async function settleCutOff(
  sql: Sql,
  gateway: string,
  { balances, kept }: { readonly balances: Balances; readonly kept: readonly string[] },
): Promise<number> {
  const rows = await sql.query<Ended>(
    `WITH ended AS (
       UPDATE gateway_calls SET state = 'unsettled'
       WHERE gateway = $1 AND state = 'under_way' AND NOT (id = ANY($2)) RETURNING *), ${summed}`,
    [gateway, kept],
  );
  settle(rows, balances);
  return rows.reduce((sum, { calls }) => sum + calls, 0);
}

/** Of what a gateway has under way. */
export async function balancesOf(sql: Sql, gateway: string): Promise<string[]> {
  const rows = await sql.query<{ day: string; run: string | null }>(
    "SELECT DISTINCT day, run FROM gateway_calls WHERE gateway = $1 AND state = 'under_way'",
    [gateway],
  );
  return rows.flatMap(({ day, run }) => [dayBalance(day), ...(run === null ? [] : [runBalance(run)])]);
}

/** Calls that were perhaps put on record, and were not made. To be run with the balances locked. */
export async function forgetCalls(sql: Sql, ids: readonly string[], balances: Balances): Promise<void> {
  const rows = await sql.query<Ended>(
    `WITH ended AS (DELETE FROM gateway_calls WHERE id = ANY($1) AND state = 'under_way' RETURNING *)
     SELECT day, run, count(*)::int AS calls, sum(reserved)::float8 AS reserved, 0 AS cost FROM ended GROUP BY day, run`,
    [ids],
  );
  settle(rows, balances);
}

function settle(rows: readonly Ended[], balances: Balances): void {
  for (const { day, run, reserved, cost } of rows) {
    for (const name of [dayBalance(day), ...(run === null ? [] : [runBalance(run)])]) {
      const balance = balances.get(name)!;
      balance.reserved -= reserved;
      balance.used += cost;
    }
  }
}

/** What is set aside for a call under way; null where it has ended. */
export async function reservedFor(sql: Sql, id: string): Promise<Money | null> {
  const [row] = await sql.query<{ reserved: Money }>(
    "SELECT reserved::float8 AS reserved FROM gateway_calls WHERE id = $1 AND state = 'under_way'",
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

export function usage(sql: Sql, { by, from, to, run }: UsageQuestion): Promise<UsageLine[]> {
  const sum = (name: string) => `sum(${name})::float8`;
  return sql.query<UsageLine>(
    `SELECT ${groups[by]} AS name, ${sum('calls')} AS calls, ${sum('aborted')} AS aborted, ${sum('failed')} AS failed,
       ${sum('estimated')} AS estimated, ${sum('unsettled')} AS unsettled, ${sum('input')} AS input_tokens,
       ${sum('output')} AS output_tokens, ${sum('cached')} AS cached_tokens, ${sum('cache_writes')} AS cache_write_tokens,
       ${sum('contradictory')} AS contradictory, (sum(cost) / 1000000)::float8 AS cost
     FROM gateway_totals
     WHERE ($1::text IS NULL OR day >= $1) AND ($2::text IS NULL OR day <= $2) AND ($3::text IS NULL OR run = $3)
     GROUP BY 1 ORDER BY ${by === 'day' ? '1 DESC' : `sum(cost) DESC, sum(calls) DESC, ${groups[by]} COLLATE "C"`}`,
    [from, to, run],
  );
}

/** Calls that are deleted at once. */
const maxForgotten = 5_000;

/** Deletes some calls that began so many days ago and have ended. */
export async function forgetOld(sql: Sql, days: number): Promise<void> {
  await sql.query(
    `DELETE FROM gateway_calls WHERE id IN
       (SELECT id FROM gateway_calls WHERE began_at < clock_timestamp() - $1 * interval '1 day' AND state <> 'under_way'
        LIMIT ${maxForgotten} FOR UPDATE SKIP LOCKED)`,
    [days],
  );
}
