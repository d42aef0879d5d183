import { expect } from 'chai';
import { UpstreamFailure } from './failure.ts';
import { FairSemaphore } from './fair-semaphore.ts';

const patient = new AbortController().signal;

describe('The queue before an upstream', () => {
  it('gives accounts their turns, however many calls each has waiting', async () => {
    const queue = new FairSemaphore('up', { concurrency: 1, waiting: 10, wait_ms: 60_000 });
    const leave = await queue.enter('a', patient);
    const order: string[] = [];
    const calls = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(async (name) => {
      const leave = await queue.enter(name[0]!, patient);
      order.push(name);
      leave();
      leave();
    });
    leave();
    await Promise.all(calls);
    expect(order).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect(queue.state).to.deep.equal({ running: 0, waiting: 0 });
  });

  it('refuses when too many wait, and those that waited too long', async () => {
    const queue = new FairSemaphore('up', { concurrency: 1, waiting: 1, wait_ms: 20 });
    const leave = await queue.enter('a', patient);
    const waiting = queue.enter('b', patient).catch((error) => error);
    const refused = await queue.enter('c', patient).catch((error) => error);
    expect(refused).to.be.instanceOf(UpstreamFailure).with.property('code', 'queue_full');
    expect(await waiting)
      .to.be.instanceOf(UpstreamFailure)
      .with.property('code', 'queue_timeout');
    leave();
    (await queue.enter('d', patient))();
  });

  it('lets nobody fill it: the account with the most waiting gives up its newest for another', async () => {
    const queue = new FairSemaphore('up', { concurrency: 1, waiting: 3, wait_ms: 60_000 });
    const leave = await queue.enter('greedy', patient);
    const ended: string[] = [];
    const enter = (name: string) =>
      queue.enter(name[0]!, patient).then(
        (leave) => {
          ended.push(name);
          leave();
        },
        (error) => ended.push(`${name} ${error.code}`),
      );
    const calls = ['g1', 'g2', 'g3', 'a1', 'g4', 'b1', 'a2'].map(enter);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).to.have.members(['g3 queue_full', 'g4 queue_full', 'g2 queue_full', 'a2 queue_full']);
    expect(queue.state).to.deep.equal({ running: 1, waiting: 3 });
    leave();
    await Promise.all(calls);
    expect(ended.slice(4)).to.deep.equal(['g1', 'a1', 'b1']);
  });

  it('forgets who leaves', async () => {
    const queue = new FairSemaphore('up', { concurrency: 1, waiting: 5, wait_ms: 60_000 });
    const leave = await queue.enter('a', patient);
    const leaving = new AbortController();
    const gone = queue.enter('b', leaving.signal).catch((error) => error);
    const next = queue.enter('c', patient);
    leaving.abort(new Error('left'));
    expect((await gone).message).to.equal('left');
    expect(queue.state.waiting).to.equal(1);
    leave();
    (await next)();
    expect(queue.state).to.deep.equal({ running: 0, waiting: 0 });
  });
});
