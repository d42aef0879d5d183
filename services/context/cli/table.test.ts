import { expect } from 'chai';
import { displayWith } from '../../../test/fixtures/terminal/display.ts';
import { tableOf } from './table.ts';

const id = `symbol:local/demo/hello:services/kit/${'deep/'.repeat(10)}file.ts#Greeter.greet`;
const node = { labels: ['CoreEntity'], properties: { id, title: 'greet' } };
const text = 'x'.repeat(100);

describe('The table of rows', () => {
  it('cuts nothing where nobody sees it on a terminal', () => {
    const lines = tableOf(['text', 'id'], [{ text, id }], Number.POSITIVE_INFINITY, displayWith());
    expect(lines).to.deep.equal([`${'text'.padEnd(100)}  id`, `${text}  ${id}`]);
  });

  it('cuts what is wide, but never an id or a node', () => {
    const rows = [
      { text, id, n: 1 },
      { text: 'short', id: 'repo:a/b', n: 22 },
    ];
    const lines = tableOf(['text', 'id', 'n'], rows, 60, displayWith());
    expect(lines).to.have.length(3);
    expect(lines[1]).to.match(/^x+… /).and.include(`  ${id}  1`);
    expect(lines[2]).to.equal(`${'short'.padEnd(60)}  ${'repo:a/b'.padEnd(id.length)}  22`);
    expect(tableOf(['n'], [{ n: node }], 80, displayWith()).join('\n')).to.include(`(:CoreEntity ${id})`);
    expect(tableOf(['ids'], [{ ids: [id, id] }], 80, displayWith()).join('\n')).to.include(
      JSON.stringify([id, id]),
    );
  });

  it('shows no characters that a terminal obeys', () => {
    expect(tableOf(['t'], [{ t: 'a\u001b[2Jb\nc' }], 80, displayWith()).join('|')).to.not.match(/[\u001b\n]/);
  });

  it('has a line for each column where rows are wider than the display, with ids whole', () => {
    const lines = tableOf(['text', 'id'], [{ text: 'a b', id }], 60, displayWith(80));
    expect(lines[0]).to.equal('text  a b');
    expect(lines[1]).to.match(/^id {4}symbol:/);
    expect(
      lines
        .slice(1)
        .map((line) => line.slice(6))
        .join(''),
    ).to.equal(id);
    for (const line of lines) expect(line.length).to.be.at.most(80);
  });

  it('shows the columns of no rows', () => {
    expect(tableOf(['a', 'b'], [], 80, displayWith())).to.deep.equal(['a  b']);
  });
});
