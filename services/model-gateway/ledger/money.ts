import type { Usage } from '../providers/usage.ts';

/** Micro-dollars, a whole number. Dollars for a million tokens are micro-dollars for one. */
export type Money = number;

/** US dollars for a million tokens. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  /** Input read from a cache; as `input` where it is absent or null. */
  readonly cached?: number | null | undefined;
  /** Input written to a cache; as `input` where it is absent or null. */
  readonly cache_writes?: number | null | undefined;
  /** Input written to a cache for longer than 5 minutes; as `cache_writes` where it is absent or null. */
  readonly cache_writes_1h?: number | null | undefined;
}

/** A million dollars: what is more is a wrong number, and would spoil every sum that it is in. */
const mostOfACall: Money = 1e12;

/** Rounded up, so that no call with a price is free. */
export function costOf(price: TokenPrice | null, usage: Usage): Money {
  if (price === null) return 0;
  const { cached, cache_writes } = usage;
  const plain = Math.max(0, usage.input - cached - cache_writes);
  const cost =
    plain * price.input +
    cached * (price.cached ?? price.input) +
    cache_writes * (price.cache_writes ?? price.input) +
    usage.output * price.output;
  // Binary fractions must not make 3 of 2.9999999 or 4 of 3.0000001.
  return Math.min(Number.isInteger(cost) ? cost : Math.ceil(Number(cost.toFixed(6))), mostOfACall);
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
