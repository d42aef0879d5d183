import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { databaseFile } from '#kit/database/open-database.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { gatewaySchema } from '../../services/model-gateway/schema.ts';
import { ledgerInDatabase, ledgerInFile } from '../fixtures/gateway/ledger-stores.ts';
import type { PostgresServer } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type Counted, type LedgerBench, testPrices } from './model-ledger.scene.ts';

const start = Date.parse('2026-11-22T23:50:00Z');

export async function sqliteBench(): Promise<LedgerBench> {
  const state = temporaryFolder();
  const path = databaseFile({ state }, gatewaySchema);
  let time = start;
  return {
    open: async (dayBudget = null) =>
      new Ledger(await ledgerInFile(state, () => time), { prices: testPrices, dayBudget }),
    now: () => time,
    async pass(ms) {
      time += ms;
    },
    counted: () => readLedgerFile(state),
    async refuseWrites() {
      const db = new DatabaseSync(path);
      db.exec(
        "CREATE TRIGGER no_room BEFORE UPDATE ON gateway_balances BEGIN SELECT RAISE(ABORT, 'no room'); END",
      );
      return async () => {
        db.exec('DROP TRIGGER no_room');
        db.close();
      };
    },
    async dump() {
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
    open: async (dayBudget = null) =>
      new Ledger(ledgerInDatabase(settings), { prices: testPrices, dayBudget }),
    now: () => time,
    async pass(ms) {
      time += ms;
      await server.ask(settings, 'UPDATE standing.clock SET at = $1', [new Date(time)]);
    },
    counted: () => readLedgerDatabase(server, settings),
    async refuseWrites() {
      await server.ask(
        settings,
        `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$;
        CREATE TRIGGER no_room BEFORE UPDATE ON gateway_balances EXECUTE FUNCTION no_room()`,
      );
      return async () => {
        await server.ask(settings, 'DROP TRIGGER no_room ON gateway_balances');
      };
    },
    async dump() {
      const tables = ['keys', 'balances', 'calls', 'totals'];
      const rows = tables.map((name) => server.ask(settings, `SELECT * FROM gateway_${name}`));
      return JSON.stringify(await Promise.all(rows));
    },
    async end() {},
  };
}

/** What is in the ledger of a database. */
export function readLedgerDatabase(
  server: Pick<PostgresServer, 'ask'>,
  settings: PostgresSettings,
): Promise<Counted> {
  return countedBy((text) => server.ask(settings, text));
}

/** What is in the ledger of a state folder, read beside whoever holds it. */
export async function readLedgerFile(state: string): Promise<Counted> {
  const path = databaseFile({ state }, gatewaySchema);
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    return await countedBy(async (text) => db.prepare(text).all() as never);
  } finally {
    db.close();
  }
}

async function countedBy(ask: <R extends object>(text: string) => Promise<R[]>): Promise<Counted> {
  const sums = ['calls', 'unsettled', 'cost'].map(
    (name) => `CAST(coalesce(sum(${name}), 0) AS float8) AS ${name}`,
  );
  const [total] = await ask<Counted['total']>(`SELECT ${sums.join(', ')} FROM gateway_totals`);
  const calls = await ask<Counted['calls'][number]>(
    'SELECT state, CAST(cost AS float8) AS cost FROM gateway_calls',
  );
  return { calls: calls.map((call) => ({ ...call })), total: { ...total! } };
}
