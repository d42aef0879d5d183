import { expect } from 'chai';
import { Throttle } from './throttle.ts';

describe('a throttle', () => {
  it('pauses who sends more than its share, and reads on later', async () => {
    let paused = 0;
    let resumed: () => void = () => {};
    const reads = new Promise<void>((resolve) => {
      resumed = resolve;
    });
    const throttle = new Throttle(1_000, { pause: () => paused++, resume: () => resumed() });
    for (let nth = 0; nth < 10_000; nth++) throttle.spend(1);
    expect(paused).to.equal(1);
    await reads;
    throttle.stop();
  });

  it('lets pass what is within it', () => {
    const throttle = new Throttle(1_000_000, {
      pause: () => expect.fail('it was paused'),
      resume() {},
    });
    for (let nth = 0; nth < 9_000; nth++) throttle.spend(1);
    throttle.stop();
  });
});
