import { expect } from 'chai';
import fc from 'fast-check';
import { costOf, dollarsOf, dollarText, moneyOf } from './money.ts';

const tokens = fc.integer({ min: 0, max: 1_000_000 });
const price = fc.integer({ min: 0, max: 100_000 }).map((cents) => cents / 1_000);

describe('Money', () => {
  it('is what the tokens cost at their prices, in whole micro-dollars, rounded up', () => {
    const usage = { input: 100, output: 3, cached: 40, cache_writes: 10 };
    expect(costOf({ input: 2, output: 10, cached: 0.5, cache_writes: 2.5 }, usage)).to.equal(
      50 * 2 + 40 * 0.5 + 10 * 2.5 + 30,
    );
    expect(costOf({ input: 2, output: 10 }, usage)).to.equal(230);
    expect(costOf({ input: 0.001, output: 0 }, { ...usage, input: 1, cached: 0, cache_writes: 0 })).to.equal(
      1,
    );
    expect(
      costOf({ input: 0.1, output: 0.2 }, { input: 30, output: 0, cached: 0, cache_writes: 0 }),
    ).to.equal(3);
    expect(costOf(null, usage)).to.equal(0);
  });

  it('never grows smaller with more tokens, and is always a whole number', () => {
    fc.assert(
      fc.property(tokens, tokens, tokens, price, price, (input, output, more, one, other) => {
        const at = { input: one, output: other };
        const less = costOf(at, { input, output, cached: 0, cache_writes: 0 });
        const greater = costOf(at, {
          input: input + more,
          output: output + more,
          cached: 0,
          cache_writes: 0,
        });
        expect(Number.isSafeInteger(less)).to.equal(true);
        expect(greater).to.be.at.least(less);
      }),
    );
  });

  it('comes back from dollars as it went', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (money) => {
        expect(moneyOf(dollarsOf(money))).to.equal(money);
      }),
    );
  });

  it('is shown with two digits, or more if needed', () => {
    const texts = [0, 2_000_000, 1_500_000, 14_000, 338, 1].map(dollarText);
    expect(texts).to.deep.equal(['$0.00', '$2.00', '$1.50', '$0.014', '$0.000338', '$0.000001']);
  });
});
