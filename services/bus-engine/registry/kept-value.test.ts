import { expect } from 'chai';
import fc from 'fast-check';
import { ValueRefused, weigh } from './kept-value.ts';

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
    weigh({ metadata: nested(100) });
    expect(() => weigh({ metadata: nested(101) })).to.throw(
      ValueRefused,
      'metadata: must be nested at most 100 levels deep',
    );
    expect(() => weigh({ config: nested(5_000) })).to.throw(ValueRefused, 'config: must be nested');
  });

  it('is refused beyond 64 KiB, all together', () => {
    const half = 'x'.repeat(32_700);
    weigh({ config: half, metadata: [half] });
    for (const metadata of [
      half.repeat(3),
      { [half]: [half, half] },
      Array.from({ length: 40_000 }, () => 1),
    ])
      expect(() => weigh({ config: {}, metadata })).to.throw(
        ValueRefused,
        'config and metadata: must have at most 65536 bytes together',
      );
  });
});
