import { expect } from 'chai';
import { canonicalJson, digestOf, sha256 } from './digest.ts';

describe('A digest', () => {
  it('is the sha256 of text or bytes in lower-case hex', () => {
    // The example of FIPS 180-2.
    const expected = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(sha256('abc')).to.equal(expected);
    expect(sha256(Buffer.from('abc'))).to.equal(expected);
  });

  it('of a value is that of its canonical JSON: the order of members says nothing, that of lists does', () => {
    const value = { b: [1e21, 0.5, -0], a: { é: '\u20ac\n', A: null, skipped: undefined } };
    expect(canonicalJson(value)).to.equal('{"a":{"A":null,"é":"€\\n"},"b":[1e+21,0.5,0]}');
    expect(digestOf({ b: 1, a: 2 })).to.equal(sha256('{"a":2,"b":1}'));
    expect(digestOf([1, 2])).not.to.equal(digestOf([2, 1]));
  });

  it('is refused for what has no JSON form', () => {
    for (const value of [undefined, () => {}, Symbol('x')])
      expect(() => digestOf(value)).to.throw(TypeError, 'a value without a JSON form has no canonical JSON');
  });
});
