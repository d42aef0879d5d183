import { expect } from 'chai';
import { silentLogger } from '#kit/log.ts';
import { Reaper } from './reaper.ts';
import type { Connection } from './wire/connection.ts';

/** A worker to which something is sent, and who reads it as the test wants. */
class Reader {
  readonly tokenText = null;
  readonly token: string;
  readonly sendBuffer = { waiting: 0, taken: 0, leaving: 0 };
  ended = false;

  constructor(token: string, waiting: number) {
    this.token = token;
    this.sendBuffer.waiting = waiting;
  }

  overflow(): void {
    this.ended = true;
  }
}

const bufferedBytes = 1_000;

describe('The reaper of readers', () => {
  function reaperOf(readers: readonly Reader[]): Reaper {
    const nothing = { sweep() {} };
    return new Reaper({
      calls: nothing,
      channels: nothing,
      workers: { all: () => readers.filter(({ ended }) => !ended) as unknown as Connection[] },
      tokens: { authenticate: () => null },
      bufferedBytes,
      logger: silentLogger,
    });
  }

  const endedOf = (readers: readonly Reader[]) => readers.map(({ ended }) => ended);

  it('ends who takes no byte of what waits for thirty checks, and nobody who takes one', () => {
    const [stuck, slow, idle] = [new Reader('a', 10), new Reader('b', 10), new Reader('c', 0)];
    const readers = [stuck, slow, idle];
    const reaper = reaperOf(readers);
    const check = (times: number) => {
      for (let nth = 0; nth < times; nth++) {
        slow.sendBuffer.taken++;
        reaper.check();
      }
    };
    check(30);
    expect(endedOf(readers)).to.deep.equal([false, false, false]);
    check(1);
    expect(endedOf(readers)).to.deep.equal([true, false, false]);
    check(100);
    expect(endedOf(readers)).to.deep.equal([true, false, false]);
  });

  it('leaves more time to who has a large write under way', () => {
    const large = new Reader('a', 10);
    large.sendBuffer.leaving = 5 * 65_536;
    const reaper = reaperOf([large]);
    for (let nth = 0; nth < 35; nth++) reaper.check();
    expect(large.ended).to.equal(false);
    reaper.check();
    expect(large.ended).to.equal(true);
  });

  it('ends who has most unread, until the connections of one token are within four times a connection', () => {
    const readers = [900, 800, 1_000, 950, 700].map((waiting) => new Reader('flooder', waiting));
    const other = new Reader('other', 1_000);
    reaperOf([...readers, other]).check();
    expect(endedOf(readers)).to.deep.equal([false, false, true, false, false]);
    expect(other.ended).to.equal(false);
  });

  it('ends who has most unread, until all of them are within sixteen times a connection', () => {
    const readers = Array.from({ length: 18 }, (_, nth) => new Reader(`token ${nth}`, 900 + nth));
    reaperOf(readers).check();
    expect(endedOf(readers).filter((ended) => ended)).to.have.length(1);
    expect(readers[17]!.ended).to.equal(true);
  });
});
