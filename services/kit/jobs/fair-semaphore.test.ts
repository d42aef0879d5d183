import { setTimeout as sleep, setImmediate as tick } from 'node:timers/promises';
import { expect } from 'chai';
import { FairSemaphore, type SemaphoreLimits } from './fair-semaphore.ts';

const patient = 60_000;

function semaphore(limits: Partial<SemaphoreLimits> = {}): FairSemaphore {
  return new FairSemaphore({ concurrency: 1, maxPending: 10, ...limits }, (reason, { running, waiting }) =>
    Object.assign(new Error(`${reason}: ${running} running, ${waiting} waiting`), { reason }),
  );
}

/** What becomes of a request, by the first letter of its name as the caller. */
function outcomes(places: FairSemaphore) {
  const ended: string[] = [];
  const ask = (name: string) =>
    places
      .run(name[0]!, patient, async () => void ended.push(name))
      .catch((error) => void ended.push(`${name} ${error.reason}`));
  return { ended, ask };
}

describe('A fair semaphore', () => {
  it('gives callers their turns, however many requests each has waiting', async () => {
    const places = semaphore();
    const { ended, ask } = outcomes(places);
    const release = await places.enter('a', patient);
    const asked = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(ask);
    release();
    release();
    await Promise.all(asked);
    expect(ended).to.deep.equal(['b1', 'c1', 'a1', 'b2', 'a2', 'a3']);
    expect(places.state).to.deep.equal({ running: 0, waiting: 0 });
  });

  it('gives no caller more than its share of the places', async () => {
    const places = semaphore({ concurrency: 4, perCaller: 2 });
    let [now, max] = [0, 0];
    const work = () =>
      places.run('a', patient, async () => {
        max = Math.max(max, ++now);
        await sleep(5);
        now--;
      });
    await Promise.all([work(), work(), work(), work(), work()]);
    expect(max).to.equal(2);
  });

  it('refuses when too many wait, and those that waited too long', async () => {
    const places = semaphore({ maxPending: 1 });
    const release = await places.enter('a', patient);
    const late = places.enter('b', 20).catch((error) => error);
    const refused = await places.enter('c', patient).catch((error) => error);
    expect(refused.message).to.equal('full: 1 running, 1 waiting');
    expect((await late).reason).to.equal('timeout');
    release();
    (await places.enter('d', patient))();
  });

  it('refuses a caller that has too many waiting, and lets another one wait', async () => {
    const places = semaphore({ maxPendingPerCaller: 2 });
    const { ended, ask } = outcomes(places);
    const release = await places.enter('a', patient);
    const asked = ['a1', 'a2', 'a3', 'b1'].map(ask);
    await tick();
    expect(ended).to.deep.equal(['a3 full']);
    release();
    await Promise.all(asked);
    expect(ended.slice(1)).to.have.members(['a1', 'a2', 'b1']);
  });

  it('lets nobody fill the queue: the caller with most in it loses its newest to another', async () => {
    const places = semaphore({ maxPending: 3 });
    const { ended, ask } = outcomes(places);
    const release = await places.enter('greedy', patient);
    const asked = ['g1', 'g2', 'g3', 'a1', 'g4', 'b1', 'a2'].map(ask);
    await tick();
    expect(ended).to.have.members(['g3 full', 'g4 full', 'g2 full', 'a2 full']);
    expect(places.state).to.deep.equal({ running: 1, waiting: 3 });
    release();
    await Promise.all(asked);
    expect(ended.slice(4)).to.deep.equal(['g1', 'a1', 'b1']);
  });

  it('forgets who leaves', async () => {
    const places = semaphore();
    const release = await places.enter('a', patient);
    const leaving = new AbortController();
    const gone = places.enter('b', patient, leaving.signal).catch((error) => error);
    const next = places.enter('c', patient);
    leaving.abort(new Error('left'));
    expect((await gone).message).to.equal('left');
    expect(places.state.waiting).to.equal(1);
    release();
    (await next)();
    expect(places.state).to.deep.equal({ running: 0, waiting: 0 });
  });

  it('has its place again after work that failed', async () => {
    const places = semaphore();
    const failed = await places.run('a', patient, () => Promise.reject(new Error('no'))).catch((e) => e);
    expect(failed.message).to.equal('no');
    expect(await places.run('a', patient, async () => 1)).to.equal(1);
  });
});
