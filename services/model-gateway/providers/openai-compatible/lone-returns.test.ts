import { expect } from 'chai';
import { LoneReturns } from './lone-returns.ts';

function read(text: string, cuts: readonly number[]): string {
  const returns = new LoneReturns();
  let given = '';
  let from = 0;
  for (const to of [...cuts, text.length]) {
    given += returns.push(Buffer.from(text.slice(from, to)));
    from = to;
  }
  return given;
}

/** The text in two and in three pieces, cut at every place. */
function eachWay(text: string, check: (given: string) => void): void {
  for (let first = 0; first <= text.length; first++) {
    check(read(text, [first]));
    for (let second = first; second <= text.length; second++) check(read(text, [first, second]));
  }
}

describe('Returns that stand alone at the end of a line', () => {
  it('are read as ends of lines, whatever the pieces', () => {
    eachWay('data: {}\r\rdata: x\r\r', (given) => {
      expect(given.replaceAll('\r\n', '\n')).to.equal('data: {}\n\ndata: x\n\n');
    });
  });

  it('leave returns before a newline as they are, whatever the pieces', () => {
    for (const text of ['data: {}\r\n\r\ndata: x\r\n\r\n', 'data: {}\n\ndata: x\n\n']) {
      eachWay(text, (given) => expect(given).to.equal(text));
    }
  });

  it('end an event with the piece that they stand in', () => {
    const returns = new LoneReturns();
    expect(String(returns.push(Buffer.from('data: 1\r\r')))).to.equal('data: 1\n\n');
    expect(String(returns.push(Buffer.from('data: 2\r\r')))).to.equal('data: 2\n\n');
  });

  it('may be mixed with other ends of lines', () => {
    eachWay('data: 1\r\rdata: 2\r\n\r\ndata: 3\n\n', (given) => {
      expect(given.replaceAll('\r\n', '\n')).to.equal('data: 1\n\ndata: 2\n\ndata: 3\n\n');
    });
  });
});
