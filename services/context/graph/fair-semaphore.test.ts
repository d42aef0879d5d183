import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { FairSemaphore } from './fair-semaphore.ts';

const soon = () => performance.now() + 120_000;

describe('places of Cypher queries', () => {
  it('are given in turns, whoever asked for more before', async () => {
    const slots = new FairSemaphore({ places: 1, each: 1, mostWaiting: 10 });
    const done: string[] = [];
    const work = (caller: string) => slots.run(caller, soon(), async () => void done.push(caller));
    const first = slots.run('a', soon(), () => sleep(20));
    await Promise.all([first, work('a'), work('a'), work('a'), work('b'), work('c'), work('b')]);
    expect(done).to.deep.equal(['b', 'c', 'a', 'b', 'a', 'a']);
  });

  it('are not all given to one caller', async () => {
    const slots = new FairSemaphore({ places: 4, each: 2, mostWaiting: 10 });
    let [now, most] = [0, 0];
    const work = () =>
      slots.run('a', soon(), async () => {
        most = Math.max(most, ++now);
        await sleep(5);
        now--;
      });
    await Promise.all([work(), work(), work(), work(), work()]);
    expect(most).to.equal(2);
  });

  it('are refused with when to ask again when too many wait, and when the deadline passes', async () => {
    const slots = new FairSemaphore({ places: 1, each: 1, mostWaiting: 2 });
    const running = slots.run('a', soon(), () => sleep(80));
    const late = slots.run('a', performance.now() + 20, async () => 'ran').catch((error) => error);
    const waiting = slots.run('a', soon(), async () => 'ran');
    const refused = await slots.run('a', soon(), async () => 'ran').catch((error) => error);
    expect([refused.code, refused.status, refused.retryAfter]).to.deep.equal(['cypher_busy', 503, 2]);
    expect(await slots.run('b', soon(), async () => 'ran')).to.equal('ran');
    expect((await late).code).to.equal('cypher_busy');
    expect(await waiting).to.equal('ran');
    await running;
  });

  it('are free again after work that failed', async () => {
    const slots = new FairSemaphore({ places: 1, each: 1, mostWaiting: 2 });
    const failed = await slots
      .run('a', soon(), () => Promise.reject(new Error('no')))
      .catch((e) => e.message);
    expect(failed).to.equal('no');
    expect(await slots.run('a', soon(), async () => 1)).to.equal(1);
  });
});
