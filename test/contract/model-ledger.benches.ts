import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { ledgerFolder, openSqliteStore } from '../../services/model-gateway/ledger/sqlite/store.ts';
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
