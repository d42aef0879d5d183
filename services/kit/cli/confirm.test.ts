import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { until } from '../../../test/fixtures/until.ts';
import { confirm } from './confirm.ts';
import { asciiSymbols, unicodeSymbols } from './display.ts';

describe('A question for yes or no', () => {
  it('takes a word for yes or no, and its default from Enter alone', async () => {
    expect(await ask('y\n', true)).to.include({ answer: true });
    expect(await ask('NO\n', true)).to.include({ answer: false });
    expect(await ask('\n', true)).to.include({ answer: true });
    expect(await ask('\n', false)).to.include({ answer: false });
  });

  it('clears an answer that is neither, says what is one, and asks again', async () => {
    const { answer, shown } = await ask('perhaps\n', true, 'n\n');
    expect(answer).to.equal(false);
    expect(shown).to.contain('answer y or n');
    expect(shown).to.match(/Go on\? No/);
  });

  it('keeps what may be answered in one piece at the end of the line', async () => {
    for (const length of [68, 70, 72, 74, 75, 76]) {
      const message = `${'word '.repeat(30).slice(0, length - 8)} and end?`;
      const { shown } = await ask('y\n', true, undefined, unicodeSymbols, message);
      expect(shown)
        .to.contain('(Y/n)')
        .and.to.match(/end\?\s*Yes/);
    }
  });

  it('stays on one line in a terminal that was never given a size', async () => {
    const { shown } = await ask('y\n', true, undefined, unicodeSymbols, 'Approve the gate build?', 0);
    expect(shown).to.contain('Approve the gate build? (Y/n)');
  });

  it('is ASCII where its signs are', async () => {
    const { shown } = await ask('y\n', true, undefined, asciiSymbols);
    expect(shown)
      .to.match(/^[\n\r\x20-\x7e]*$/)
      .and.to.contain('ok Go on? Yes');
  });
});

async function ask(
  typed: string,
  usual: boolean,
  then?: string,
  symbols = unicodeSymbols,
  message = 'Go on?',
  columns?: number,
) {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), columns === undefined ? {} : { columns });
  let shown = '';
  output.on('data', (text: Buffer) => {
    shown += stripVTControlCharacters(String(text));
  });
  const answer = confirm({ message, default: usual, symbols, input, output });
  await seen(/\?/);
  input.write(typed);
  if (then !== undefined) {
    await seen(/answer y or n/);
    input.write(then);
  }
  return { answer: await answer, shown };

  function seen(text: RegExp): Promise<boolean> {
    return until(
      () => `${text} in ${shown}`,
      () => text.test(shown),
    );
  }
}
