import { expect } from 'chai';
import { maxCostOf, type PriceList, priceAt, priceOf } from './money.ts';

describe('Prices of cache writes', () => {
  const prices: PriceList = new Map([
    [
      'a',
      new Map([
        ['both', { input: 2, output: 10, cache_writes: 3, cache_writes_1h: 4 }],
        ['one', { input: 2, output: 10, cache_writes: 2.5 }],
        ['free', null],
      ]),
    ],
  ]);
  const call = { model: 'a', upstream: 'both', inputTokens: 100, outputTokens: 10 };

  it('are dearer for a call that asks to keep its input for longer, where that price is known', () => {
    const written = (upstream: string, longCache: boolean) =>
      priceAt(prices, { model: 'a', longCache }, upstream)?.cache_writes;
    expect(written('both', false)).to.equal(3);
    expect(written('both', true)).to.equal(4);
    expect(written('one', true)).to.equal(2.5);
    expect(priceAt(prices, { model: 'a', longCache: true }, 'free')).to.equal(null);
  });

  it('are set aside as dear as the call may become', () => {
    expect(maxCostOf(prices, call)).to.equal(100 * 3 + 10 * 10);
    expect(maxCostOf(prices, { ...call, longCache: true })).to.equal(100 * 4 + 10 * 10);
    expect(maxCostOf(prices, { ...call, model: 'unknown' })).to.equal(0);
  });
});

describe('Prices of caches that an entry does not name', () => {
  const price = { input: 10, output: 50 };

  it('are at Anthropic the multiples that it bills', () => {
    expect(priceOf({ kind: 'anthropic', price })).to.deep.equal({
      ...price,
      cached: 1,
      cache_writes: 12.5,
      cache_writes_1h: 20,
    });
  });

  it('are elsewhere the price of input, and that of an hour is not known', () => {
    for (const kind of ['openai', 'google'] as const)
      expect(priceOf({ kind, price })).to.include({ cached: 10, cache_writes: 10, cache_writes_1h: null });
    expect(priceOf({ kind: 'anthropic', price: null })).to.equal(null);
  });

  it('give way to those that it names', () => {
    const own = { ...price, cached: 2, cache_writes: 3, cache_writes_1h: 4 };
    expect(priceOf({ kind: 'anthropic', price: own })).to.deep.equal(own);
  });
});
