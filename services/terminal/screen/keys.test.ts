import { expect } from 'chai';
import { type Input, KeyDecoder } from './keys.ts';

const bytes = (text: string) => Buffer.from(text);
const key = (name: string): Input => ({ kind: 'key', key: name });

describe('KeyDecoder', () => {
  it('names keys, and gives characters as they are', () => {
    const decoder = new KeyDecoder();
    expect(decoder.decode(bytes('a\x1b[A\x1bOB\x1b[6~\r\x7f\x03é\t\x1b[Z'))).to.deep.equal(
      ['a', 'up', 'down', 'page-down', 'enter', 'backspace', 'ctrl-c', 'é', 'tab', 'shift-tab'].map(key),
    );
  });

  it('waits for the rest of what is cut off', () => {
    const decoder = new KeyDecoder();
    expect(decoder.decode(bytes('\x1b'))).to.deep.equal([]);
    expect(decoder.waits).to.equal(true);
    expect(decoder.decode(bytes('['))).to.deep.equal([]);
    expect(decoder.decode(bytes('B'))).to.deep.equal([key('down')]);
    const smile = Buffer.from('😀');
    expect(decoder.decode(smile.subarray(0, 2))).to.deep.equal([]);
    expect(decoder.decode(smile.subarray(2))).to.deep.equal([key('😀')]);
  });

  it('takes an escape that nothing follows for the key', () => {
    const decoder = new KeyDecoder();
    decoder.decode(bytes('\x1b'));
    expect(decoder.flush()).to.deep.equal([key('escape')]);
    expect(decoder.waits).to.equal(false);
  });

  it('distinguishes the wheel from a click', () => {
    const decoder = new KeyDecoder();
    expect(decoder.decode(bytes('\x1b[<64;10;5M\x1b[<65;1;1M\x1b[<0;3;4M\x1b[<0;3;4m'))).to.deep.equal([
      { kind: 'wheel', lines: -3, row: 4, column: 9 },
      { kind: 'wheel', lines: 3, row: 0, column: 0 },
      { kind: 'click', row: 3, column: 2 },
    ]);
  });

  it('takes what is pasted as text, whatever keys are in it', () => {
    const decoder = new KeyDecoder();
    expect(decoder.decode(bytes('\x1b[200~aA\x1b[A'))).to.deep.equal([]);
    expect(decoder.decode(bytes('x\x1b[201~q'))).to.deep.equal([
      { kind: 'paste', text: 'aA\x1b[Ax' },
      key('q'),
    ]);
  });

  it('ends a paste at its end alone, however it comes and however long it is', () => {
    const decoder = new KeyDecoder();
    expect(decoder.decode(bytes('\x1b[200~some text'))).to.deep.equal([]);
    expect(decoder.waits).to.equal(false);
    expect(decoder.flush()).to.deep.equal([]);
    expect(decoder.decode(bytes(' Ax\ry\x1b[20'))).to.deep.equal([]);
    expect(decoder.decode(bytes('1~q'))).to.deep.equal([
      { kind: 'paste', text: 'some text Ax\ry' },
      key('q'),
    ]);
    const long = decoder.decode(bytes(`\x1b[200~${'A'.repeat(200_000)}\x1b[201~`));
    expect(long).to.deep.equal([{ kind: 'paste', text: 'A'.repeat(64 * 1024) }]);
    decoder.decode(bytes('\x1b[200~a paste that nothing ends'));
    expect(decoder.decode(bytes('\x03'))).to.deep.equal([key('ctrl-c')]);
  });

  it('reads the background that the terminal reports, with as many digits as it likes', () => {
    const answer = { kind: 'background', red: 1, green: 1, blue: 0 } as const;
    expect(new KeyDecoder().decode(bytes('\x1b]11;rgb:ffff/ffff/0000\x1b\\z'))).to.deep.equal([
      answer,
      key('z'),
    ]);
    expect(new KeyDecoder().decode(bytes('\x1b]11;rgba:ff/ff/00/ff\x07'))).to.deep.equal([answer]);
  });

  it('types nothing of a sequence that it does not know', () => {
    const answers =
      '\x1b]10;rgb:0000/0000/0000\x1b\\\x1b[?2026;2$y\x1b[>41;2c\x1bP>|tmux\x1b\\\x1b[[A\x1b[Mab1';
    expect(new KeyDecoder().decode(bytes(`${answers}z`))).to.deep.equal([key('z')]);
    expect(new KeyDecoder().decode(bytes('\x1ba'))).to.deep.equal([key('alt-a')]);
    const inPieces = new KeyDecoder();
    const inputs = [...answers].flatMap((character) => inPieces.decode(bytes(character)));
    expect(inputs).to.deep.equal([]);
  });
});
