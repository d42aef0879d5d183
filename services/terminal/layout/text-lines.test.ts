import { expect } from 'chai';
import { openedSample, sampleDetail } from '../../../test/fixtures/terminal/sample.ts';
import { rowText, span } from '../screen/cell.ts';
import { field, hanging, outputLine, quoted, type TextLine, wrapLine } from './text-lines.ts';

const laid = (columns: number, ...lines: readonly TextLine[]) =>
  lines.flatMap((one) => wrapLine(one, columns)).map((row) => rowText(row).trimEnd());

describe('A line of text', () => {
  it('stands beside its label, and never touches one that is long', () => {
    expect(laid(40, field('why', 'A new branch keeps the main branch untouched.'))).to.deep.equal([
      'why         A new branch keeps the main',
      '            branch untouched.',
    ]);
    expect(laid(40, field('prepare_environment', '{}'))).to.deep.equal(['prepare_environment {}']);
  });

  it('keeps a digest whole at 80 columns', () => {
    expect(laid(80, field('sha256', 'c5'.repeat(32)))).to.have.length(1);
  });

  it('has the bar of a quotation before all of it, and items of lists under their text', () => {
    expect(laid(30, ...quoted('- an item that is long enough to be wrapped', undefined, '│ '))).to.deep.equal(
      ['│ - an item that is long', '│   enough to be wrapped'],
    );
    expect(laid(20, outputLine('x'.repeat(30)))).to.deep.equal([
      `  ${'x'.repeat(18)}`,
      `  ${'x'.repeat(12)}`,
    ]);
  });

  it('goes on below a beginning that takes nearly all the room', () => {
    const wide = hanging([span('a beginning of thirty columns ')], span('and words that do not fit'));
    expect(laid(40, wide)).to.deep.equal(['a beginning of thirty columns and', '  words that do not fit']);
  });
});

describe('Pop-ups', () => {
  const title =
    'a title of many words that no terminal has the room for, 80 columns or fewer, or even twice that';
  const opened = (columns: number) =>
    openedSample(
      { columns, rows: 60 },
      sampleDetail(({ actions }) => {
        for (const action of actions) Object.assign(action, { title, risk_reasons: [title] });
      }),
    );

  for (const columns of [60, 80])
    it(`never go on at the left edge, at ${columns} columns`, () => {
      for (const keys of [['A'], ['A', 'tab'], ['?']]) {
        const body = opened(columns)
          .keys(...keys)
          .draw()
          .slice(1, -2);
        const end = body.findLastIndex((row) => row.startsWith(' '));
        const edge = body.slice(1, end).filter((row) => /^\S/.test(row));
        expect(edge, `${keys.join(' ')}\n${body.join('\n')}`).to.deep.equal([]);
        expect(body.join(' ').replaceAll(/\s+/g, ' ')).to.contain(
          keys[0] === '?' ? 'whole screen, and back' : title,
        );
      }
    });
});
