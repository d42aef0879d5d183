import { expect } from 'chai';
import fc from 'fast-check';
import { endOfString } from './json-scan.ts';

describe('The end of a string of JSON', () => {
  it('is after its closing quote, whatever stands in it and behind it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.string(), (text, behind) => {
        const before = '{"a": ';
        const json = JSON.stringify(text);
        const bytes = Buffer.from(before + json + behind);
        expect(endOfString(bytes, before.length)).to.equal(before.length + Buffer.byteLength(json));
      }),
    );
  });

  it('is that of all bytes where it has none', () => {
    for (const text of ['"', '"abc', '"\\"', `"${'x'.repeat(100)}\\"`])
      expect(endOfString(Buffer.from(text), 0), text).to.equal(text.length);
  });
});
