import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { ThisTurn } from './this-turn.ts';

describe('What is found out for this turn of the event loop', () => {
  it('is asked for once in it, and again in the next', async () => {
    const turn = new ThisTurn<number>();
    let asked = 0;
    const get = () => turn.get(() => ++asked);
    expect([get(), await Promise.resolve().then(get)]).to.deep.equal([1, 1]);
    await setImmediate();
    expect(get()).to.equal(2);
  });

  it('is asked for again after a failure', () => {
    const turn = new ThisTurn<number>();
    const fails = () => {
      throw new Error('not now');
    };
    expect(() => turn.get(fails)).to.throw('not now');
    expect(turn.get(() => 3)).to.equal(3);
  });
});
