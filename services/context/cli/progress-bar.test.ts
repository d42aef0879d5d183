import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { createProgressBar } from './progress-bar.ts';

function place(isTTY: boolean): { stream: NodeJS.WriteStream; text: () => string; raw: () => string } {
  const stream = Object.assign(new PassThrough(), {
    isTTY,
    columns: 120,
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => true,
  });
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  return {
    stream: stream as unknown as NodeJS.WriteStream,
    text: () => stripVTControlCharacters(text),
    raw: () => text,
  };
}

const at = (done: number, what = 'demo/hello', path: string | null = 'src/a.ts') => ({
  what,
  done,
  total: 40,
  path,
});

describe('The progress bar', () => {
  it('moves on a terminal, one bar for each thing, and leaves nothing behind', () => {
    const { stream, text, raw } = place(true);
    const bar = createProgressBar(stream);
    bar.show(at(0));
    bar.show(at(20));
    bar.show(at(3, 'text index', 'x\u001b[2J.ts'));
    bar.end();
    bar.end();
    expect(text())
      .to.match(/demo\/hello {2}\S+ {2}0\/40 {2}src\/a\.ts/)
      .and.match(/text index {2}\S+ {2}3\/40/);
    expect(raw()).to.not.include('\u001b[2J');
  });

  it('prints a line now and then elsewhere, and not at once', () => {
    const { stream, text } = place(false);
    const before = performance.now;
    let now = before.call(performance);
    performance.now = () => now;
    try {
      const bar = createProgressBar(stream);
      bar.show(at(1));
      now += 6_000;
      bar.show(at(7));
      bar.show(at(8));
      bar.end();
    } finally {
      performance.now = before;
    }
    expect(text()).to.equal('demo/hello: 7 of 40\n');
  });
});
