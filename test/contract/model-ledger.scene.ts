import type { Price } from '../../services/model-gateway/configuration.ts';
import type { Account } from '../../services/model-gateway/ledger/accounts.ts';
import type { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
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

export const token: Account = { key: 'token:tester', run: null, models: null, budget: null };

export const everything = { by: 'day', from: null, to: null, run: null } as const;

/** What is in a ledger, read beside whoever writes it. */
export interface Counted {
  readonly calls: readonly { readonly state: CallState; readonly cost: number }[];
  readonly total: { readonly calls: number; readonly unsettled: number; readonly cost: number };
}

export type CallState = 'under_way' | 'done' | 'aborted' | 'failed' | 'unsettled';

/** One ledger, for the contract that every store of it passes. */
export interface LedgerBench {
  /** As a gateway that starts has it. Where only one may have it, the one before must be closed. */
  open(dayBudget?: number | null): Promise<Ledger>;
  now(): number;
  pass(ms: number): Promise<void>;
  counted(): Promise<Counted>;
  /** Makes every change of a balance fail until the result is called. */
  refuseWrites(): Promise<() => Promise<void>>;
  /** All that is stored, as text. */
  dump(): Promise<string>;
  end(): Promise<void>;
}
