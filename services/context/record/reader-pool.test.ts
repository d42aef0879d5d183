import { expect } from 'chai';
import { IdleGate } from './reader-pool.ts';

const never = 2 ** 30;

describe('IdleGate', () => {
  it('lets others go on at once where nothing is under way', async () => {
    await new IdleGate().idle(never);
  });

  it('lets all others go on when the last work has ended, whether well or not', async () => {
    const gate = new IdleGate();
    const [one, other] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    const [first, second] = [gate.urgent(one.promise), gate.urgent(other.promise)];
    let going = 0;
    const waiting = [1, 2].map(() => gate.idle(never).then(() => going++));
    one.resolve('found');
    expect(await first).to.equal('found');
    expect(going).to.equal(0);
    other.reject(new Error('no'));
    expect(await second.catch(({ message }) => message)).to.equal('no');
    await Promise.all(waiting);
    await gate.idle(never);
  });

  it('lets nobody wait longer than is said', async () => {
    const gate = new IdleGate();
    void gate.urgent(new Promise(() => {}));
    await gate.idle(1);
  });
});
