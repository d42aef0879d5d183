import { expect } from 'chai';
import { age, duration, until } from '#kit/cli/moments.ts';
import { apart } from './layout.ts';

describe('layout on a terminal', () => {
  it('keeps two texts apart, and puts them below each other where there is no room', () => {
    expect(apart('ab', 'cd', 8)).to.deep.equal(['ab    cd']);
    expect(apart('abcdef', 'cd', 8)).to.deep.equal(['abcdef', '  cd']);
    expect(apart('abcdef', 'cd', Number.POSITIVE_INFINITY)[0]).to.match(/^abcdef +cd$/);
  });

  it('says ages and durations as people do', () => {
    const now = new Date('2026-11-21T10:00:00.000Z');
    expect(age('2026-11-21T09:57:00.000Z', now)).to.equal('3 min ago');
    expect(age('2026-11-20T09:57:00.000Z', now)).to.equal('1 day ago');
    expect(age('2026-01-02T09:57:00.000Z', now)).to.equal('2026-01-02');
    expect(until('2026-11-28T10:00:00.000Z', now)).to.equal('in 7 days');
    expect(until('2026-11-20T10:00:00.000Z', now)).to.equal('now');
    expect([duration(42), duration(1234), duration(130_000)]).to.deep.equal(['42 ms', '1.2 s', '2 min 10 s']);
  });
});
