import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { openPostgresStore } from '../../services/model-gateway/ledger/postgres/store.ts';
import { ledgerFolder, openSqliteStore } from '../../services/model-gateway/ledger/sqlite/store.ts';
import type { PostgresServer } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type CallState, type Counted, type LedgerBench, testPrices } from './model-ledger.scene.ts';

const start = Date.parse('2026-11-22T23:50:00Z');

export async function sqliteBench(): Promise<LedgerBench> {
  const state = temporaryFolder();
  let time = start;
  return {
    open: (dayBudget = null) =>
      new Ledger(
        openSqliteStore(state, () => time),
        { prices: testPrices, dayBudget },
      ),
    now: () => time,
    async pass(ms) {
      time += ms;
    },
    counted: async () => readLedgerFile(state),
    async dump() {
      const path = join(ledgerFolder(state), 'ledger.sqlite');
      return [path, `${path}-wal`].map((name) => readFileSync(name, 'latin1')).join('');
    },
    async end() {},
  };
}

/** The database's own clock stands still until a test moves it: the names of its functions are found here first. */
const clock = (schema: string) => `
  CREATE SCHEMA ${schema};
  CREATE TABLE ${schema}.clock (at timestamptz NOT NULL);
  INSERT INTO ${schema}.clock VALUES ('${new Date(start).toISOString()}');
  CREATE FUNCTION ${schema}.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM ${schema}.clock';
  CREATE FUNCTION ${schema}.clock_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM ${schema}.clock'`;

export async function postgresBench(server: PostgresServer): Promise<LedgerBench> {
  const settings = await server.database();
  const database = new URL(settings.url).pathname.slice(1);
  await server.ask(settings, clock('standing'));
  await server.ask(settings, `ALTER DATABASE ${database} SET search_path = public, standing, pg_catalog`);
  let time = start;
  return {
    open: (dayBudget = null) => new Ledger(openPostgresStore(settings), { prices: testPrices, dayBudget }),
    now: () => time,
    async pass(ms) {
      time += ms;
      await server.ask(settings, 'UPDATE standing.clock SET at = $1', [new Date(time)]);
    },
    counted: () => readLedgerDatabase(server, settings),
    async dump() {
      const tables = ['keys', 'balances', 'calls', 'totals'];
      const rows = tables.map((name) => server.ask(settings, `SELECT * FROM gateway_${name}`));
      return JSON.stringify(await Promise.all(rows));
    },
    async end() {},
  };
}

/** What is in the ledger of a database. */
export async function readLedgerDatabase(
  server: Pick<PostgresServer, 'ask'>,
  settings: PostgresSettings,
): Promise<Counted> {
  const [total] = await server.ask<Counted['total']>(
    settings,
    `SELECT coalesce(sum(calls), 0)::int AS calls, coalesce(sum(unsettled), 0)::int AS unsettled,
       coalesce(sum(cost), 0)::float8 AS cost FROM gateway_totals`,
  );
  const calls = await server.ask<Counted['calls'][number]>(
    settings,
    'SELECT state, cost::float8 AS cost FROM gateway_calls',
  );
  return { calls, total: total! };
}

const states: readonly CallState[] = ['under_way', 'done', 'aborted', 'failed', 'unsettled'];

/** What is in the ledger of a state folder, read beside whoever holds it. */
export function readLedgerFile(state: string): Counted {
  const db = new DatabaseSync(join(ledgerFolder(state), 'ledger.sqlite'), { readOnly: true, timeout: 5_000 });
  try {
    const total = db
      .prepare('SELECT sum(calls) AS calls, sum(unsettled) AS unsettled, sum(cost) AS cost FROM totals')
      .get() as { calls: number | null; unsettled: number | null; cost: number | null };
    const calls = db.prepare('SELECT state, cost FROM calls').all() as unknown as {
      state: number;
      cost: number;
    }[];
    return {
      calls: calls.map((call) => ({ ...call, state: states[call.state]! })),
      total: { calls: total.calls ?? 0, unsettled: total.unsettled ?? 0, cost: total.cost ?? 0 },
    };
  } finally {
    db.close();
  }
}
