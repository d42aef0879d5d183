import { expect } from 'chai';
import fc from 'fast-check';
import { BoundedOutput } from './output.ts';

function bounded(limit: number, chunks: readonly Uint8Array[]): BoundedOutput {
  const output = new BoundedOutput(limit);
  for (const chunk of chunks) output.add(chunk);
  return output;
}

describe('Bounded output', () => {
  it('keeps everything up to the limit', () => {
    const output = bounded(8, [Buffer.from('abc'), Buffer.from('defgh')]);
    expect(Buffer.from(output.bytes()).toString()).to.equal('abcdefgh');
    expect(output.truncated).to.equal(false);
  });

  it('keeps head and tail and says how much is missing between them', () => {
    const output = bounded(4, [Buffer.from('abc'), Buffer.from('defg'), Buffer.from('h')]);
    expect(Buffer.from(output.bytes()).toString()).to.equal('ab\n[4 bytes left out]\ngh');
    expect(output.truncated).to.equal(true);
  });

  it('gives the same for every way in which the bytes come in pieces', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 }), pieces, (limit, chunks) => {
        const whole = Buffer.concat(chunks);
        expect(bounded(limit, chunks).bytes()).to.deep.equal(bounded(limit, [whole]).bytes());
        const head = Math.ceil(limit / 2);
        const tail = limit - head;
        const gap = Buffer.from(`\n[${whole.length - limit} bytes left out]\n`);
        const expected =
          whole.length <= limit
            ? whole
            : Buffer.concat([whole.subarray(0, head), gap, whole.subarray(whole.length - tail)]);
        expect(Buffer.from(bounded(limit, chunks).bytes())).to.deep.equal(expected);
      }),
    );
  });
});
