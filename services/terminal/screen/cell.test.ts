import { expect } from 'chai';
import fc from 'fast-check';
import { textWidth } from '#kit/cli/text-width.ts';
import { fitRow, rowText, rowWidth, span, wrapRow, wrapUnder } from './cell.ts';

const text = fc.string({ unit: fc.constantFrom('a', ' ', '名', '가', 'é', '👩‍👩‍👧', '-') });
const row = fc.array(
  text.map((one) => span(one, { bold: true })),
  { maxLength: 4 },
);

describe('A row', () => {
  it('is wrapped without losing a character, but for spaces that lines break at, or leaving the width', () => {
    fc.assert(
      fc.property(row, fc.integer({ min: 2, max: 12 }), fc.boolean(), (cells, width, words) => {
        const lines = wrapRow(cells, width, words);
        const text = (all: string) => (words ? all.replaceAll(' ', '') : all);
        expect(text(lines.map(rowText).join(''))).to.equal(text(rowText(cells)));
        for (const line of lines) expect(rowWidth(line)).to.be.at.most(width);
      }),
      { numRuns: 300 },
    );
  });

  it('is cut or filled to exactly the width', () => {
    fc.assert(
      fc.property(row, fc.integer({ min: 0, max: 12 }), (cells, width) => {
        expect(rowWidth(fitRow(cells, width, '…'))).to.equal(width);
      }),
      { numRuns: 300 },
    );
  });

  it('breaks at spaces where words are kept', () => {
    const lines = wrapRow([span('read it before it is approved')], 12, true);
    expect(lines.map(rowText)).to.deep.equal(['read it ', 'before it is', 'approved']);
    const long = wrapRow([span('a /very/long/path and more')], 12, true);
    expect(long.map(rowText)).to.deep.equal(['a ', '/very/long/p', 'ath and more']);
  });

  it('goes on under its own text, behind the bars that stand before it', () => {
    const cells = [span('| '), span('why  '), span('because it is so, and will be so')];
    const under = (width: number, bar: number) =>
      wrapUnder(cells, width, { words: true, hang: 7, bar }).map(rowText);
    expect(under(25, 0)).to.deep.equal(['| why  because it is so, ', '       and will be so']);
    expect(under(25, 2)).to.deep.equal(['| why  because it is so, ', '|      and will be so']);
    // Where that leaves no room, a little to the right of the beginning.
    expect(under(20, 0)).to.deep.equal(['| why  because it is', 'so, and will be so']);
  });

  it('shows the beginning of a long line at once', () => {
    const long = 'x'.repeat(1_000_000);
    const lines = wrapRow([span(long)], 100);
    expect([lines.length, textWidth(rowText(lines[9_999]!))]).to.deep.equal([10_000, 100]);
  });
});
