import { expect } from 'chai';
import { retrySeconds } from './durable-queue.ts';

describe('A durable queue', () => {
  it('waits six times as long after each failure, up to a limit', () => {
    const waits = [1, 2, 3, 4, 5, 60].map((n) => retrySeconds(n, { first: 5, max: 600 }, () => 0.5));
    expect(waits).to.deep.equal([5, 30, 180, 600, 600, 600]);
    const bounds = [0, 0.999].map((random) => retrySeconds(1, { first: 5, max: 600 }, () => random));
    expect(bounds[0]).to.equal(4);
    expect(bounds[1]).to.be.within(5.9, 6);
  });
});
