import { expect } from 'chai';
import { maxCostOf, type PriceList, priceAt } from './money.ts';

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
