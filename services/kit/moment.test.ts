import { expect } from 'chai';
import { momentIn, msUntil } from './moment.ts';

describe('a moment by both clocks of a process', () => {
  const { now } = Date;
  afterEach(() => {
    Date.now = now;
  });

  it('is over when the machine slept past it, which the steady clock does not count', () => {
    const moment = momentIn(60_000);
    expect(msUntil(moment)).to.be.within(1, 60_000);
    Date.now = () => now() + 3_600_000;
    expect(msUntil(moment)).to.be.below(0);
  });

  it('is not put off by a clock that is set back', () => {
    const moment = momentIn(-1);
    Date.now = () => now() - 3_600_000;
    expect(msUntil(moment)).to.be.below(0);
  });
});
