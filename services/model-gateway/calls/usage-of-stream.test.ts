import { expect } from 'chai';
import fc from 'fast-check';
import { BrokenStream, StreamReader } from './usage-of-stream.ts';

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const word = event({
  choices: [{ delta: { content: 'wörd "usage":{ "finish_reason":"x"' }, finish_reason: null }],
});
const stop = event({ choices: [{ delta: {}, finish_reason: 'stop' }] });
const told = event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } });
const done = 'data: [DONE]\n\n';

function read(text: string, hideUsage: boolean, cuts: readonly number[] = []) {
  const reader = new StreamReader({ hideUsage });
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    out.push(Buffer.from(reader.push(bytes.subarray(at, at + cut))));
    at = Math.min(bytes.length, at + cut);
  }
  out.push(Buffer.from(reader.end()));
  return { text: Buffer.concat(out).toString(), reader };
}

describe('The reader of a stream', () => {
  it('reads usage and hides its chunk, in whatever pieces the stream comes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 })), fc.boolean(), (cuts, hideUsage) => {
        const { text, reader } = read(`: hello\n\n${word}${word}${stop}${told}${done}`, hideUsage, cuts);
        expect(text).to.equal(`: hello\n\n${word}${word}${stop}${hideUsage ? '' : told}${done}`);
        expect(reader.usage).to.deep.equal({ input: 5, output: 2, cached: 0, cache_writes: 0 });
        expect(reader.done).to.equal(true);
      }),
    );
  });

  it('takes line ends of both kinds, and an end without an empty line', () => {
    const crlf = `${word}${told}${done}`.replaceAll('\n', '\r\n');
    expect(read(crlf, true).text).to.equal(`${word}${done}`.replaceAll('\n', '\r\n'));
    expect(read(`${word}${stop}data: [DONE]`, true).reader.done).to.equal(true);
  });

  it('gives usage on that comes with words', () => {
    const last = event({
      choices: [{ delta: {}, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    });
    const { text, reader } = read(word + last, true);
    expect(text).to.equal(word + last);
    expect(reader.usage!.input).to.equal(1);
  });

  it('takes a byte order mark, and nothing that follows the end', () => {
    const whole = `\uFEFF${word}${stop}${done}`;
    expect(read(whole, true).text).to.equal(whole);
    for (const more of ['<html>\n\n', 'oops', word]) expect(read(whole + more, true).text).to.equal(whole);
  });

  it('has not begun with comments', () => {
    const reader = new StreamReader({ hideUsage: false });
    reader.push(Buffer.from(': PROCESSING\n\n: PROCESSING\n\nevent: ping\n\n'));
    expect(reader.begun).to.equal(false);
    reader.push(Buffer.from(word));
    expect(reader.begun).to.equal(true);
  });

  it('counts words without what is around them', () => {
    const { reader } = read(word.repeat(10) + stop + done, true);
    expect(reader.wordBytes()).to.be.within(40, 10 * word.length);
  });

  it('says what is wrong with a stream that is none', () => {
    const wrong = [
      'data: {"choices": [{"del\n\n',
      'data: nothing\n\n',
      '<html>\n\n',
      word,
      `${word}data: {"choices":[{"finish`,
    ];
    for (const text of wrong) expect(() => read(text, true)).to.throw(BrokenStream);
  });
});
