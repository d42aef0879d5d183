import { expect } from 'chai';
import fc from 'fast-check';
import { textWidth } from '#kit/cli/text-width.ts';
import { fitRow, rowText, rowWidth, span, wrapRow } from './cell.ts';

const text = fc.string({ unit: fc.constantFrom('a', ' ', '名', '가', 'é', '👩‍👩‍👧', '-') });
const row = fc.array(
  text.map((one) => span(one, { bold: true })),
  { maxLength: 4 },
);

describe('A row', () => {
  it('is wrapped without losing a character or leaving the width', () => {
    fc.assert(
      fc.property(row, fc.integer({ min: 2, max: 12 }), fc.boolean(), (cells, width, words) => {
        const lines = wrapRow(cells, width, words);
        expect(lines.map(rowText).join('')).to.equal(rowText(cells));
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
    expect(lines.map(rowText)).to.deep.equal(['read it ', 'before it ', 'is approved']);
  });

  it('shows the beginning of a long line at once', () => {
    const long = 'x'.repeat(1_000_000);
    const lines = wrapRow([span(long)], 100);
    expect([lines.length, textWidth(rowText(lines[9_999]!))]).to.deep.equal([10_000, 100]);
  });
});
