import { expect } from 'chai';
import fc from 'fast-check';
import { isDeeperThan } from './depth.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the depth of JSON', () => {
  it('is told from its bytes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(7), (value, limit) => {
        const json = Buffer.from(JSON.stringify(value));
        expect(isDeeperThan(limit, json)).to.equal(depthOf(value) > limit);
      }),
    );
  });

  it('does not count what stands in strings', () => {
    for (const text of ['[[[[', '"[[[[', '\\"[[[[', '\\\\', 'ä[[[[\\'])
      expect(isDeeperThan(1, Buffer.from(JSON.stringify([text, { [text]: 1 }].slice(0, 1))))).to.equal(false);
    expect(isDeeperThan(1, Buffer.from('["[[[[ without an end'))).to.equal(false);
  });
});
