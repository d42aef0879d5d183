import { expect } from 'chai';
import { Precedence } from './precedence.ts';

const never = 2 ** 30;

describe('Precedence', () => {
  it('lets others go on at once where nothing is under way', async () => {
    await new Precedence().idle(never);
  });

  it('lets all others go on when the last work has ended, whether well or not', async () => {
    const precedence = new Precedence();
    const [one, other] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    const [first, second] = [precedence.first(one.promise), precedence.first(other.promise)];
    let going = 0;
    const waiting = [1, 2].map(() => precedence.idle(never).then(() => going++));
    one.resolve('found');
    expect(await first).to.equal('found');
    expect(going).to.equal(0);
    other.reject(new Error('no'));
    expect(await second.catch(({ message }) => message)).to.equal('no');
    await Promise.all(waiting);
    await precedence.idle(never);
  });

  it('lets nobody wait longer than is said', async () => {
    const precedence = new Precedence();
    void precedence.first(new Promise(() => {}));
    await precedence.idle(1);
  });
});
