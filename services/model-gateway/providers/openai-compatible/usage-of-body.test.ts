import { expect } from 'chai';
import fc from 'fast-check';
import { processorTime } from '../../../../test/fixtures/processor-time.ts';
import { LargeBodyReader, usageInBody } from './usage-of-body.ts';

const usage = { prompt_tokens: 5, completion_tokens: 2 };
const counted = { input: 5, output: 2, cached: 0, cache_writes: 0 };
const wrong = { prompt_tokens: 900, completion_tokens: 900 };

function read(text: string, cuts: readonly number[] = []) {
  const bytes = Buffer.from(text);
  const reader = new LargeBodyReader();
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    reader.push(bytes.subarray(at, at + cut));
    at = Math.min(bytes.length, at + cut);
  }
  return reader.usage;
}

describe('The usage of a whole answer', () => {
  const answers = [
    { usage, choices: [{ usage: wrong }], text: '"usage":{"prompt_tokens":9}' },
    { a: { usage: wrong }, text: 'x\\"usage\\":', 'not usage': wrong, usage, b: [{ usage: wrong }] },
    { '"usage': wrong, key: 'usage', usage, last: 'usage' },
    { choices: [], usage: { ...usage, note: 'a , } ] " \\ b' } },
  ];

  it('is the answer’s own, in whatever pieces it comes', () => {
    for (const answer of answers) {
      for (const text of [JSON.stringify(answer), JSON.stringify(answer, null, 2)]) {
        expect(usageInBody(JSON.parse(text))).to.deep.equal(counted);
        fc.assert(
          fc.property(fc.array(fc.integer({ min: 1, max: 20 })), (cuts) => {
            expect(read(text, cuts)).to.deep.equal(counted);
          }),
        );
      }
    }
  });

  it('is none where only something in the answer has one, or what it has is none', () => {
    for (const answer of [{ a: { usage } }, { a: [{ usage }] }, { usage: 'much' }, { usage: null }, {}]) {
      const text = JSON.stringify(answer);
      expect(usageInBody(JSON.parse(text)), text).to.equal(null);
      expect(read(text), text).to.equal(null);
    }
    expect(read(`{"usage":{"prompt_tokens":5,"x":"${'y'.repeat(20_000)}"}}`)).to.equal(null);
  });

  it('is found in a moment, however deep or often the word stands', () => {
    const deep = `{"choices":[],"a":${'{"usage":'.repeat(50_000)}1${'}'.repeat(50_000)},"usage":${JSON.stringify(usage)}}`;
    const often = `{"a":[${'"\\"usage\\":{",'.repeat(100_000)}0],"usage":${JSON.stringify(usage)}}`;
    for (const text of [deep, often]) {
      const spent = processorTime();
      expect(usageInBody(JSON.parse(text))).to.deep.equal(counted);
      expect(read(text)).to.deep.equal(counted);
      expect(spent()).to.be.lessThan(10_000);
    }
  });
});
