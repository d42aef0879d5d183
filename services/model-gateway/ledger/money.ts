import type { Usage } from '#kit/model-answers/usage.ts';
import type { Price, UpstreamEntry } from '../configuration.ts';

/**
 * What an upstream takes for a million tokens, with what its entry does not say of caches: at Anthropic the multiples of the price of
 * input that hold for each of its models, elsewhere the price of input. Source: docs.claude.com, "Prompt caching".
 */
export function priceOf({ kind, price }: Pick<UpstreamEntry, 'kind' | 'price'>): FullPrice | null {
  if (price == null) return null;
  const { input, output } = price;
  const usual = kind === 'anthropic' ? { cached: input * 0.1, writes: input * 1.25, hour: input * 2 } : null;
  return {
    input,
    output,
    cached: price.cached ?? usual?.cached ?? input,
    cache_writes: price.cache_writes ?? usual?.writes ?? input,
    cache_writes_1h: price.cache_writes_1h ?? usual?.hour ?? null,
  };
}

interface FullPrice extends Price {
  readonly cached: number;
  readonly cache_writes: number;
  /** null: as `cache_writes`, and it is not known to be right. */
  readonly cache_writes_1h: number | null;
}

/** Micro-dollars, a whole number. Dollars for a million tokens are micro-dollars for one. */
export type Money = number;

/** A million dollars: what is more is a wrong number, and would spoil every sum that it is in. */
const maxCost: Money = 1e12;

/** Rounded up, so that no call with a price is free. */
export function costOf(price: Price | null, usage: Usage): Money {
  if (price === null) return 0;
  const { cached, cache_writes } = usage;
  const plain = Math.max(0, usage.input - cached - cache_writes);
  const cost =
    plain * price.input +
    cached * (price.cached ?? price.input) +
    cache_writes * (price.cache_writes ?? price.input) +
    usage.output * price.output;
  // Binary fractions must not make 3 of 2.9999999 or 4 of 3.0000001.
  return Math.min(Number.isInteger(cost) ? cost : Math.ceil(Number(cost.toFixed(6))), maxCost);
}

export function moneyOf(dollars: number): Money {
  return Math.round(dollars * 1_000_000);
}

export function dollarsOf(money: Money): number {
  return money / 1_000_000;
}

/** For people: two digits after the point, and more where a small sum needs them. */
export function dollarText(money: Money): string {
  return `$${dollarsOf(money)
    .toFixed(6)
    .replace(/0{1,4}$/, '')}`;
}

/** What decides the price of a call, beside its upstream. */
export interface PricedCall {
  readonly model: string;
  /** Estimates, on the high side. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** It asks to keep input in a cache for longer than 5 minutes. */
  readonly longCache?: boolean;
}

/** Prices of the upstreams of each model, by name. null: calls there cost nothing. */
export type PriceList = ReadonlyMap<string, ReadonlyMap<string, Price | null>>;

/** For a call of this kind. Not every upstream reports which writes were for how long: all of a call count as the dearer ones. */
export function priceAt(
  prices: PriceList,
  { model, longCache }: Pick<PricedCall, 'model' | 'longCache'>,
  upstream: string,
): Price | null {
  const price = prices.get(model)?.get(upstream) ?? null;
  if (price === null || longCache !== true) return price;
  return { ...price, cache_writes: price.cache_writes_1h ?? price.cache_writes ?? null };
}

/** A call may be answered by any upstream of its model, so the price of the most expensive one is reserved. */
export function maxCostOf(prices: PriceList, call: PricedCall): Money {
  const { model, inputTokens: input, outputTokens: output } = call;
  const usage = { input, output, cached: 0, cache_writes: 0 };
  const costs = [...(prices.get(model)?.keys() ?? [])].flatMap((upstream) => {
    const price = priceAt(prices, call, upstream);
    return [costOf(price, usage), costOf(price, { ...usage, cache_writes: input })];
  });
  return Math.max(0, ...costs);
}
