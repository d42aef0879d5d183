import { expect } from 'chai';
import fc from 'fast-check';
import { bandsOf, signatureOf } from './minhash.ts';
import { jaccard, trigrams } from './normalise.ts';

const words = fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 30, maxLength: 60 });

describe('MinHash', () => {
  it('gives equal sets equal signatures, in whatever order they come', () => {
    fc.assert(
      fc.property(words, (grams) => {
        expect(signatureOf(grams)).to.deep.equal(signatureOf(grams.toReversed()));
      }),
    );
  });

  it('agrees in about as many rows as the sets have in common', () => {
    const errors: number[] = [];
    for (let common = 10; common <= 190; common += 5) {
      const a = Array.from({ length: 200 }, (_, n) => `gram ${common} ${n}`);
      const b = a.map((gram, n) => (n < common ? gram : `other ${gram}`));
      const [x, y] = [signatureOf(a), signatureOf(b)];
      const agreeing = x.filter((value, n) => value === y[n]).length / x.length;
      errors.push(agreeing - jaccard(new Set(a), new Set(b)));
    }
    // Of 48 rows the standard error of one estimate is at most 0.072.
    expect(Math.max(...errors.map(Math.abs))).to.be.below(0.25);
    expect(Math.abs(errors.reduce((sum, error) => sum + error, 0) / errors.length)).to.be.below(0.03);
  });

  it('brings texts with a Jaccard index of 0.9 together, and keeps different ones apart', () => {
    let met = 0;
    let strangers = 0;
    const rounds = 300;
    for (let round = 0; round < rounds; round++) {
      const a = Array.from({ length: 100 }, (_, n) => `${round} ${n}`);
      const near = a.map((gram, n) => (n < 5 ? `${gram} changed` : gram));
      const distant = a.map((gram, n) => (n < 70 ? `${gram} changed` : gram));
      const bands = new Set(bandsOf(signatureOf(a), ''));
      if (bandsOf(signatureOf(near), '').some((band) => bands.has(band))) met++;
      if (bandsOf(signatureOf(distant), '').some((band) => bands.has(band))) strangers++;
    }
    expect(met / rounds).to.be.at.least(0.98);
    expect(strangers / rounds).to.be.below(0.1);
  });

  it('never brings different scopes together', () => {
    const signature = signatureOf(trigrams('the same text'));
    const bands = new Set(bandsOf(signature, 'semantic'));
    expect(bandsOf(signature, 'episodic').filter((band) => bands.has(band))).to.deep.equal([]);
  });
});
