import { expect } from 'chai';
import fc from 'fast-check';
import { weigh } from './kept-value.ts';

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
}

describe('the weight of what the engine keeps', () => {
  it('is about that of its JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        expect(weigh({ value })).to.be.within(bytes / 4 - 10, 2 * bytes + 10);
      }),
    );
  });

  it('is refused beyond a hundred levels', () => {
    expect(weigh({ metadata: nested(100) })).to.be.a('number');
    expect(weigh({ metadata: nested(101) })).to.equal('metadata: must be nested at most 100 levels deep');
    expect(weigh({ config: nested(5_000) })).to.equal('config: must be nested at most 100 levels deep');
  });

  it('is refused beyond 64 KiB, all together', () => {
    const half = 'x'.repeat(32_700);
    expect(weigh({ config: half, metadata: [half] })).to.be.a('number');
    for (const metadata of [
      half.repeat(3),
      { [half]: [half, half] },
      Array.from({ length: 40_000 }, () => 1),
    ])
      expect(weigh({ config: {}, metadata })).to.equal(
        'config and metadata: must have at most 65536 bytes together',
      );
  });
});
