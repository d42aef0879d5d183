import { expect } from 'chai';
import fc from 'fast-check';
import { unmistakableName } from '#kit/cli/look-alikes.ts';
import { laidText, lineText, safeText, shownPath } from '#kit/diff/line-text.ts';
import { parsePatch } from '#kit/diff/patch.ts';
import { textOfBytes } from '#kit/diff/text-of-bytes.ts';
import { spokenLine } from '../plain/spoken-line.ts';
import { rowText } from '../screen/cell.ts';
import { unicodeGlyphs } from '../screen/glyphs.ts';
import { exactRow } from './text-lines.ts';

const shown = (text: string) => rowText(exactRow(text, unicodeGlyphs));

/** Pairs of which only one byte or two differ, and which a terminal would draw alike. */
const pairs: readonly (readonly [what: string, one: string, other: string])[] = [
  ['a tab and spaces', 'a\tb', 'a   b'],
  ['a space at the end', 'done ', 'done'],
  ['a tab at the end', 'done\t', 'done   '],
  ['a carriage return', 'done\r', 'done'],
  ['a space before a carriage return', 'done \r', 'done\r'],
  ['a sign for a tab and a tab', 'abc⇥', 'abc\t'],
  ['a dot at the end and a space', 'done·', 'done '],
  ['a no-break space', 'a\u00a0b', 'a b'],
  ['an ideographic space', 'a\u3000b', 'a  b'],
  ['a letter of another script', 'gr\u0435et', 'greet'],
  ['a mathematical letter', 'gree\u{1d42d}', 'greet'],
  ['a question mark of Greek', 'done();', 'done()\u037e'],
  ['a letter that is drawn as an exclamation mark', 'if (a \u01c3= b)', 'if (a != b)'],
  ['a hyphen that does not break', 'x \u2011= 1', 'x -= 1'],
  ['a slash of division', 'a \u2215 b', 'a / b'],
  ['a letter that is composed of two', 'caf\u00e9', 'cafe\u0301'],
  ['a syllable that is composed of two', '\uac00', '\u1100\u1161'],
  ['a unit that is a letter', 'a \u212b', 'a \u00c5'],
];

describe('A changed line', () => {
  for (const [what, one, other] of pairs) {
    it(`shows ${what}`, () => {
      expect(shown(one)).not.to.equal(shown(other));
      expect(spokenLine(`+${one}`, true)).not.to.deep.equal(spokenLine(`+${other}`, true));
    });
  }

  it('distinguishes an escape for a character from the same letters', () => {
    const style = (text: string) => exactRow(text, unicodeGlyphs).find(({ text }) => text.includes('\\x1b'));
    expect(style('a\u001bb')?.style).to.include({ underline: true });
    expect(style('a\\x1bb')?.style).to.equal(undefined);
    expect(spokenLine('+a\u001bb', true)).to.have.length(2);
    expect(spokenLine('+a\\x1bb', true)).to.have.length(1);
  });

  it('marks no more than it has, and takes as many columns as without its marks', () => {
    const piece = fc.constantFrom('a', ' ', '\t', '漢', '\u001b', '·', '⇥', '\u00a0', '👍🏽', '\r', '\\x1b');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const { text, marks } = laidText(pieces.join(''), true);
        expect(shown(pieces.join('')).length).to.equal(text.length);
        for (const [index, { at, length }] of marks.entries()) {
          expect(length).to.be.above(0);
          expect(at).to.be.at.least(index === 0 ? 0 : marks[index - 1]!.at + marks[index - 1]!.length);
        }
      }),
    );
  });

  it('has the same text where it is only laid out', () => {
    const piece = fc.constantFrom('a', ' ', '\t', 'return', '  ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const line = pieces.join('');
        const patch = parsePatch(`--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+${line}\n`);
        expect(lineText(patch, 3)).to.equal(laidText(line, true).text);
      }),
    );
  });

  it('leaves words of one script and plain code as they are', () => {
    for (const text of [
      'const a = b;',
      'привет, мир',
      'Δx = λ',
      '日本語',
      'naïve café',
      '你好，世界；（一）',
      'שָׁלוֹם',
      '👨‍👩‍👧 → b',
    ])
      expect(shown(text)).to.equal(text);
  });

  it('piles no more marks on a letter than languages do', () => {
    const { text } = laidText(`a${'\u0336'.repeat(500_000)}b`, true);
    expect(text).to.match(/^a\u0336{5}(\\u\{336\})+b$/);
  });

  it('takes no time for a million spaces in the midst of it', () => {
    const { marks } = laidText(`${' '.repeat(1_000_000)}x `, true);
    expect(marks).to.deep.equal([{ at: 1_000_001, length: 1, kind: 'space' }]);
  });
});

describe('A name', () => {
  it('shows letters that only look like others', () => {
    expect(unmistakableName('src/gr\u0435et.js')).to.equal('src/gr\\u{435}et.js');
    expect(unmistakableName('\u0441\u043e\u0440.js')).to.equal('\\u{441}\\u{43e}\\u{440}.js');
    expect(unmistakableName('cafe\u0301')).to.equal('cafe\\u{301}');
    for (const name of ['docs/日本語.md', 'привет.md', 'café', 'src/größe.ts'])
      expect(unmistakableName(name)).to.equal(name);
  });

  it('is not that of another file', () => {
    const names = [
      'a b',
      'a  b',
      ' a b',
      'a b ',
      'a\tb',
      'a\nb',
      'a\\nb',
      'a\\x0ab',
      'a\u00a0b',
      'a\\u{a0}b',
    ];
    const more = ['a\u037e', 'a;', 'a\u2011', 'a-', '\u1100\u1161', '\uac00', 'a /b', 'a/b', 'a/ b'];
    const shown = [...names, ...more].map(shownPath);
    expect(new Set(shown).size).to.equal(shown.length);
    for (const path of shown) expect(path.trim().replaceAll(/\s+/g, ' ')).to.equal(path);
    for (const name of ['docs/日本語.md', 'src/a b.ts', '[id].tsx', 'größe'])
      expect(shownPath(name)).to.equal(name);
  });
});

describe('Bytes that are no UTF-8', () => {
  it('are shown byte by byte, so that no two of them look alike', () => {
    const text = textOfBytes(Buffer.from([0x61, 0xe9, 0x62, 0x0a, 0xc3, 0xa9, 0xff]));
    expect(text.split('\n').map(safeText)).to.deep.equal(['a<E9>b', 'é<FF>']);
    expect(text.split('\n').map(shown)).to.deep.equal(['a<E9>b', 'é<FF>']);
  });

  it('are what it was made of', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
        const bytes = Buffer.from(given, 'utf8');
        expect(textOfBytes(bytes)).to.equal(bytes.toString('utf8'));
      }),
    );
  });
});
