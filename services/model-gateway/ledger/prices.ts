import type { LedgerCall } from './ledger.ts';
import { costOf, type Money, type TokenPrice } from './money.ts';

/** Prices of the upstreams of each model, by name. null: calls there cost nothing. */
export type PriceList = ReadonlyMap<string, ReadonlyMap<string, TokenPrice | null>>;

/** For a call of this kind. Not every upstream tells which writes were for how long: all of a call count as the dearer ones. */
export function priceAt(
  prices: PriceList,
  { model, longCache }: Pick<LedgerCall, 'model' | 'longCache'>,
  upstream: string,
): TokenPrice | null {
  const price = prices.get(model)?.get(upstream) ?? null;
  if (price === null || longCache !== true) return price;
  return { ...price, cache_writes: price.cache_writes_1h ?? price.cache_writes };
}

/** A call may end at any upstream of its model, so that the dearest is set aside. */
export function mostOf(prices: PriceList, call: LedgerCall): Money {
  const { model, inputTokens: input, outputTokens: output } = call;
  const usage = { input, output, cached: 0, cache_writes: 0 };
  let most = 0;
  for (const upstream of prices.get(model)?.keys() ?? []) {
    const price = priceAt(prices, call, upstream);
    const written = { ...usage, cache_writes: input };
    most = Math.max(most, costOf(price, usage), costOf(price, written));
  }
  return most;
}
