import type { LedgerCall } from './ledger.ts';
import { costOf, type Money, type TokenPrice } from './money.ts';

/** Prices of the upstreams of each model, by name. null: calls there cost nothing. */
export type PriceList = ReadonlyMap<string, ReadonlyMap<string, TokenPrice | null>>;

export function priceAt(prices: PriceList, model: string, upstream: string): TokenPrice | null {
  return prices.get(model)?.get(upstream) ?? null;
}

/** A call may end at any upstream of its model, so that the dearest is set aside. */
export function mostOf(
  prices: PriceList,
  { model, inputTokens: input, outputTokens: output }: LedgerCall,
): Money {
  const usage = { input, output, cached: 0, cache_writes: 0 };
  let most = 0;
  for (const price of prices.get(model)?.values() ?? []) {
    const written = { ...usage, cache_writes: input };
    most = Math.max(most, costOf(price, usage), costOf(price, written));
  }
  return most;
}
