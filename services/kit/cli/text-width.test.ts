import { createRequire } from 'node:module';
import { expect } from 'chai';
import { textWidth } from './text-width.ts';

const { default: measured } = createRequire(import.meta.url)('string-width') as {
  default: (text: string) => number;
};

describe('textWidth', () => {
  it('agrees with the tables for the characters that it knows without them', () => {
    for (let code = 0x20; code <= 0xffff; code += code < 0x2900 ? 1 : 89) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCharCode(code);
      expect(textWidth(character), `U+${code.toString(16)}`).to.equal(measured(character));
    }
  });

  it('measures marks, emoji and mixtures', () => {
    expect(textWidth('e\u0301')).to.equal(1);
    expect(textWidth('👩‍👩‍👧 名前 name')).to.equal(12);
    expect(textWidth('│ ✔ ⠋ …')).to.equal(7);
  });
});
