import { expect } from 'chai';
import fc from 'fast-check';
import { BandIndex } from './signatures.ts';

const anyBand = fc.oneof(
  fc.nat(5),
  fc.nat(5).map((n) => n * 2 ** 40),
  fc.maxSafeNat().map((n) => n % 2 ** 52),
);

describe('The index of bands', () => {
  it('names the newest memories of a band, and none of another', () => {
    fc.assert(
      fc.property(fc.array(anyBand, { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (bands, most) => {
        const index = new BandIndex();
        for (const [at, band] of bands.entries()) index.add(band, at + 1);
        for (const band of new Set([...bands, 77])) {
          const found = new Set<number>();
          index.collect(band, most, found);
          const all = bands.flatMap((one, at) => (one === band ? [at + 1] : [])).toReversed();
          expect([...found]).to.deep.equal(all.slice(0, most));
        }
      }),
    );
  });

  it('keeps every entry and the order of chains while it grows', () => {
    const index = new BandIndex();
    for (let memory = 1; memory <= 5_000; memory++) index.add(memory % 50, memory);
    for (let band = 0; band < 50; band++) {
      const found = new Set<number>();
      index.collect(band, 1_000, found);
      const all = Array.from({ length: 100 }, (_, n) => 5_000 - n * 50 - ((50 - band) % 50));
      expect([...found]).to.deep.equal(all);
    }
  });
});
