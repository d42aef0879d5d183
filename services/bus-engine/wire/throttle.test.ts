import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { Throttle } from './throttle.ts';

describe('a throttle', () => {
  function reader() {
    const said: string[] = [];
    let resumed: () => void = () => {};
    const reads = new Promise<void>((resolve) => {
      resumed = resolve;
    });
    const pause = () => void said.push('pause');
    const resume = () => {
      said.push('resume');
      resumed();
    };
    return { said, reads, pause, resume };
  }

  it('holds who sends more than its share, and reads on later', async () => {
    const reading = reader();
    const throttle = new Throttle(1_000, reading);
    for (let nth = 0; nth < 10_000; nth++) throttle.spend(1);
    expect(reading.said).to.deep.equal(['pause']);
    await reading.reads;
    expect(reading.said).to.deep.equal(['pause', 'resume']);
    throttle.stop();
  });

  it('lets pass what is within it', async () => {
    const reading = reader();
    const throttle = new Throttle(10_000_000, reading);
    for (let turn = 0; turn < 20; turn++) {
      for (let nth = 0; nth < 100; nth++) throttle.spend(1);
      await nextTurn();
    }
    expect(reading.said).to.deep.equal([]);
    throttle.stop();
  });
});
