import { expect } from 'chai';
import { age, duration, until } from '#kit/cli/moments.ts';
import { apart, cut, table } from './layout.ts';
import type { Symbols } from './terminal.ts';

describe('layout on a terminal', () => {
  const terminal = { width: Number.POSITIVE_INFINITY, symbols: { ellipsis: '…' } as Symbols };

  it('lines columns up by what is seen, wide characters included', () => {
    const lines = table(
      [
        ['日本', 'x'],
        ['abc', 'y'],
      ],
      terminal,
    );
    expect(lines).to.deep.equal(['  日本  x', '  abc   y']);
  });

  it('puts numbers to the right and cuts only the last column', () => {
    const lines = table(
      [
        [{ text: '7', align: 'right' }, 'a long remark'],
        [{ text: '12', align: 'right' }, 'b'],
      ],
      terminal,
      { width: 14 },
    );
    expect(lines).to.deep.equal(['   7  a long …', '  12  b']);
  });

  it('never cuts a character in two', () => {
    expect(cut('a日本', 3, '…')).to.equal('a…');
    expect(cut('ab', 2, '…')).to.equal('ab');
  });

  it('keeps two texts apart however long they are', () => {
    expect(apart('ab', 'cd', 8)).to.equal('ab    cd');
    expect(apart('abcdef', 'cd', 8)).to.equal('abcdef  cd');
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
