import { expect } from 'chai';
import { displayWith } from '../../../test/fixtures/terminal/display.ts';
import { type Column, tableLines, tableOf } from './table.ts';

describe('A table', () => {
  const columns: readonly Column[] = [
    { title: 'id', gives: { turn: 2, to: 'brief' } },
    { title: 'when', gives: { turn: 3, to: 'gone' } },
    { title: 'n', right: true },
    { title: 'text', gives: { turn: 1, to: 8 }, excess: 'wrap' },
  ];
  const row = [{ text: 'run_0123', brief: '0123' }, '3 min ago', '7', 'one two three four'];
  const at = (width: number) => tableLines(columns, [row], displayWith(width));

  it('lines columns up by what is seen, wide characters included, and numbers to the right', () => {
    const lines = tableLines(
      ['', { title: '', right: true }, ''],
      [
        ['日本', '7', 'x'],
        ['abc', '12', 'y'],
      ],
      displayWith(),
      { indent: 2 },
    );
    expect(lines).to.deep.equal(['  日本   7  x', '  abc   12  y']);
  });

  it('lets its columns give way in their order, as far as is needed', () => {
    expect(at(60)).to.deep.equal([
      'id        when       n  text',
      'run_0123  3 min ago  7  one two three four',
    ]);
    expect(at(36)).to.deep.equal([
      'id        when       n  text',
      'run_0123  3 min ago  7  one two',
      '                        three four',
    ]);
    expect(at(30)).to.deep.equal([
      'id    when       n  text',
      '0123  3 min ago  7  one two',
      '                    three four',
    ]);
    expect(at(20)).to.deep.equal(['id    n  text', '0123  7  one two', '         three four']);
  });

  it('keeps a long word of its last column whole, further left where the other columns are done', () => {
    const branch = 'core/1-say-hello-01a225e4b70c';
    const shown = (text: string, width = 36) =>
      tableLines(columns.slice(2), [['7', text]], displayWith(width));
    expect(shown(`on ${branch} now`, 31)).to.deep.equal(['n  text', '7  on', `  ${branch}`, '   now']);
    expect(shown(`${branch} now`, 30)).to.deep.equal(['n  text', '7', ` ${branch}`, '   now']);
    expect(shown(branch, 28)).to.deep.equal(['n  text', '7  core/1-say-hello-', '   01a225e4b70c']);
  });

  it('has a line for each value where no columns fit', () => {
    const lines = tableLines(
      ['name', 'other'],
      [
        ['x'.repeat(30), 'y'.repeat(30)],
        ['a', 'b'],
      ],
      displayWith(40),
      {},
    );
    expect(lines).to.deep.equal([
      `name   ${'x'.repeat(30)}`,
      `other  ${'y'.repeat(30)}`,
      '',
      'name   a',
      'other  b',
    ]);
  });

  it('cuts text at its end or at its beginning, and never a character in two', () => {
    const wide = (excess: 'cut' | 'cutStart', ascii = false) =>
      tableLines([{ title: '', gives: { turn: 1, to: 4 }, excess }], [['ab日本cd']], displayWith(5, ascii));
    expect(wide('cut')).to.deep.equal(['ab日…']);
    expect(wide('cutStart')).to.deep.equal(['…本cd']);
    expect(wide('cut', true)).to.deep.equal(['ab...']);
  });

  it('shows nothing that a terminal obeys, and has signs in ASCII where they are asked for', () => {
    const cells = [['a\x1b[2J → b · “c”…']];
    expect(tableLines([''], cells, displayWith(80, true))).to.deep.equal(['a\\x1b[2J -> b - "c"...']);
  });

  it('keeps the lines of each row together', () => {
    const { head, body } = tableOf(columns, [row, row], displayWith(20), {});
    expect(head).to.have.length(1);
    expect(body.map((lines) => lines.length)).to.deep.equal([2, 2]);
  });
});
