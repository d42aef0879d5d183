import { join } from 'node:path';
import type { Database, Sql } from '#kit/database/database.ts';
import { openDatabase, transaction } from '#kit/storage/database.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { differs, MovedRows, type MovedTable } from '#kit/storage-move/moved-tables.ts';
import type { Compared, MoveOptions, MovePart, OpenMoveParts } from '#kit/storage-move/part.ts';
import { callsTable, keysTable, totalsTable } from './ledger/moved-tables.ts';
import { numberCalls } from './ledger/numbered-calls.ts';
import { balancesOf, lockBalances, openCalls, settleCutOff } from './ledger/postgres/statements.ts';
import { ledgerFolder } from './ledger/sqlite/store.ts';
import { LedgerTables, ledgerKind } from './ledger/sqlite/tables.ts';

/** Ledger and keys of runs. A call that was cut off is counted at what was reserved, as when its gateway ends. */
export const openMoveParts: OpenMoveParts = async (options) => {
  const folder = ledgerFolder(options.folders.state);
  const hold = holdFolder(folder, { code: 'ledger_held', name: 'the ledger' });
  const path = join(folder, 'ledger.sqlite');
  try {
    const writer = openDatabase(path, ledgerKind);
    const part = (table: MovedTable) => new MovedRows(table, { path, writer }, options);
    const calls = part(callsTable);
    calls.prepare = async () => {
      if (options.to === 'files') await endCalls(options.database);
      else transaction(writer, () => new LedgerTables(writer).settleCutOff(Date.now()));
    };
    const budgets = new Budgets(options);
    budgets.close = async () => {
      writer.close();
      hold.release();
    };
    return [part(keysTable), calls, part(totalsTable), budgets];
  } catch (error) {
    hold.release();
    throw error;
  }
};

async function endCalls(database: Database): Promise<void> {
  const gateways = await database.query<{ gateway: string }>(
    "SELECT DISTINCT gateway::text FROM gateway_calls WHERE state = 'under_way'",
  );
  for (const { gateway } of gateways)
    await database.transaction(async (sql) => {
      const { moment, balances } = await lockBalances(sql, await balancesOf(sql, gateway));
      await settleCutOff(sql, gateway, { balances, kept: [] });
      await openCalls(sql, [], { gateway, moment, balances });
    });
  await numberCalls(database);
}

/** What the calls of each day and run cost: of totals, and of every run with a key. */
const wanted = `
  SELECT 'day:' || day AS name, sum(cost)::bigint AS used FROM gateway_totals GROUP BY day
  UNION ALL
  SELECT 'run:' || run, sum(cost)::bigint FROM (
    SELECT run, cost FROM gateway_totals WHERE run IS NOT NULL UNION ALL SELECT run, 0 FROM gateway_keys) AS runs
  GROUP BY run`;

/** What is used of budgets: in files it follows from the totals, so that there is something to do on the way to a database alone. */
class Budgets implements MovePart {
  readonly name = 'budgets';
  readonly #options: MoveOptions;

  constructor(options: MoveOptions) {
    this.#options = options;
  }

  async count(): Promise<number> {
    return this.#options.to === 'files' ? 0 : (await this.#rows()).length;
  }

  async prepare(): Promise<void> {}

  async copy(done: (entries: number) => void): Promise<void> {
    if (this.#options.to === 'files') return;
    await this.#options.database.transaction(async (sql: Sql) => {
      await sql.query(
        `DELETE FROM gateway_balances WHERE name NOT IN (SELECT name FROM (${wanted}) AS wanted)`,
      );
      await sql.query(
        `INSERT INTO gateway_balances (name, used, reserved) SELECT name, used, 0 FROM (${wanted}) AS wanted ORDER BY name
         ON CONFLICT (name) DO UPDATE SET used = excluded.used, reserved = 0`,
      );
    });
    done(await this.count());
  }

  async compare(): Promise<Compared> {
    const rows = this.#options.to === 'files' ? [] : await this.#rows();
    const [wrong] = rows.filter(({ used, kept }) => used !== kept);
    if (wrong !== undefined)
      throw differs(
        this.name,
        `${wrong.name} has ${wrong.kept} micro-dollars, and the calls came to ${wrong.used}`,
      );
    return { entries: rows.length, sha256: '' };
  }

  async foreignFiles(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {}

  #rows(): Promise<{ name: string; used: string; kept: string | null }[]> {
    return this.#options.database.query(
      `SELECT name, wanted.used, gateway_balances.used AS kept FROM (${wanted}) AS wanted
       LEFT JOIN gateway_balances USING (name)`,
    );
  }
}
