import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Price } from '../../services/model-gateway/configuration.ts';
import { ledgerFolder } from '../../services/model-gateway/ledger/ledger.ts';
import type { PriceList } from '../../services/model-gateway/ledger/money.ts';
import type { CallResult, LedgerCall } from '../../services/model-gateway/ledger/settlement.ts';

/** Two upstreams of one model; the second is the dearer. */
export const testPrices: PriceList = new Map<string, Map<string, Price | null>>([
  [
    'large',
    new Map([
      ['first', { input: 2, output: 10, cached: 0.5 }],
      ['second', { input: 4, output: 20 }],
    ]),
  ],
  ['free', new Map([['own', null]])],
]);

export const testCall: LedgerCall = {
  model: 'large',
  upstream: 'first',
  inputTokens: 1_000,
  outputTokens: 500,
};

/** What `testCall` sets aside, in micro-dollars: all of it at the dearer upstream. */
export const reservedForTestCall = 1_000 * 4 + 500 * 20;

export function spentBy(output: number): Omit<CallResult, 'upstream'> {
  return {
    usage: { input: 1_000, output, cached: 0, cache_writes: 0 },
    outcome: 'done',
    sentBytes: output * 4,
    ms: 5,
    firstTokenMs: null,
  };
}

/** What is in the ledger of a state folder, read beside whoever holds it. */
export function readLedgerFile(state: string): {
  readonly calls: readonly { readonly state: number; readonly cost: number }[];
  readonly total: { readonly calls: number; readonly unsettled: number; readonly cost: number };
} {
  const db = new DatabaseSync(join(ledgerFolder(state), 'ledger.sqlite'), { readOnly: true, timeout: 5_000 });
  try {
    const total = db
      .prepare('SELECT sum(calls) AS calls, sum(unsettled) AS unsettled, sum(cost) AS cost FROM totals')
      .get() as { calls: number | null; unsettled: number | null; cost: number | null };
    return {
      calls: db.prepare('SELECT state, cost FROM calls').all() as unknown as {
        state: number;
        cost: number;
      }[],
      total: { calls: total.calls ?? 0, unsettled: total.unsettled ?? 0, cost: total.cost ?? 0 },
    };
  } finally {
    db.close();
  }
}
