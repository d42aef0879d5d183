import { expect } from 'chai';
import fc from 'fast-check';
import { visibleLine, visibleLines } from './terminal-text.ts';

const dangerous = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;

describe('text from outside on a terminal', () => {
  it('shows an escape sequence instead of obeying it', () => {
    expect(visibleLine('\x1b[2Jgone')).to.equal('\\x1b[2Jgone');
    expect(visibleLine('\x9b31m')).to.equal('\\x9b31m');
  });

  it('shows a bidirectional override that would swap what is read', () => {
    expect(visibleLine('access\u202e\u2066// user\u2069')).to.equal(
      'access\\u{202e}\\u{2066}// user\\u{2069}',
    );
  });

  it('shows characters that have no glyph at all', () => {
    expect(visibleLine('a\u200bb\u{e0041}\u3164\ufeff')).to.equal('a\\u{200b}b\\u{e0041}\\u{3164}\\u{feff}');
  });

  it('keeps line ends and tabs in several lines, and shows carriage returns', () => {
    expect(visibleLines('+a\r\n\t-b\n')).to.equal('+a\\r\n\t-b\n');
    expect(visibleLine('a\nb\tc\r')).to.equal('a\\nb\\tc\\r');
  });

  it('leaves ordinary text, accents, other scripts and emoji as they are', () => {
    const text = 'Grüße, Ωmega, 日本語, שלום, 👩‍👩‍👧, ❤️, 🇫🇷, 5 − 3 = 2';
    expect(visibleLine(text)).to.equal(text);
  });

  it('never lets a dangerous character through, whatever comes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visibleLine(text).replaceAll(/\p{RGI_Emoji}/gv, '')).not.to.match(dangerous);
        expect(visibleLines(text).replaceAll(/[\n\t]|\p{RGI_Emoji}/gv, '')).not.to.match(dangerous);
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0x2fff })), (codes) => {
        const shown = visibleLine(String.fromCharCode(...codes));
        expect(shown.replaceAll(/\p{RGI_Emoji}/gv, '')).not.to.match(dangerous);
        expect(visibleLine(shown)).to.equal(shown);
      }),
    );
  });
});
