import { expect } from 'chai';
import fc from 'fast-check';
import { folded, jaccard, normalised, trigrams } from './normalise.ts';

const letters = fc.stringMatching(/^[a-zäöüéñдж]{2,9}$/);
const sentence = fc.array(letters, { minLength: 4, maxLength: 40 });

/** Things that stand in a text, and things that say something else in their place. */
const replacements: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'a word': [
    ['Tuesday', 'Thursday'],
    ['staging', 'production'],
    ['Alice', 'Bob'],
    ['two', 'three'],
    ['may', 'must'],
    ['生产', '测试'],
  ],
  'a negation': [
    ['is', 'is not'],
    ['darf', 'darf nicht'],
    ['keine', 'eine'],
    ['peut', 'ne peut pas'],
    ['puede', 'no puede'],
    ['può', 'non può'],
    ['можно', 'не можно'],
    ['可以', '不可以'],
    ['できる', 'できない'],
    ['할 수 있다', '할 수 없다'],
    ['able', 'unable'],
    ["can't", 'can'],
  ],
  'a number': [
    ['5', '50'],
    ['1.5', '15'],
    ['10 000', '10000 '.repeat(2).trim()],
    ['1,000', '1.000'],
    ['½', '1'],
    ['10²', '102'],
    ['٣', '٤'],
    ['0x1F', '0x1f0'],
  ],
  'a version': [
    ['v2.3.1', 'v2.3.1-rc'],
    ['v2.3.1', 'v2.3.10'],
    ['1.0.0+a', '1.0.0+b'],
    ['^2.0', '~2.0'],
    ['2.x', '2.X'],
  ],
  'a sign': [
    ['-5', '+5'],
    ['-5', '5'],
    ['<3', '>3'],
    ['<=3', '<3'],
    ['C', 'C++'],
    ['C#', 'C++'],
    ['!ready', 'ready'],
    ['a && b', 'a || b'],
    ['x == y', 'x != y'],
    ['$HOME', 'HOME'],
    ['--no-verify', '--verify'],
    ['*.ts', '.ts'],
    ['"a b"', '"a, b"'],
  ],
  'a path or name': [
    ['src/Auth.ts', 'src/auth.ts'],
    ['/Users/a', '/users/a'],
    ['C:\\Temp', 'C:\\temp'],
    ['src/a', 'src/a/'],
    ['./a', '../a'],
    ['userId', 'userid'],
    ['getURL', 'getUrl'],
    ['MAX_SIZE', 'max_size'],
    ['-D', '-d'],
    ['--Force', '--force'],
    ['`Name`', '`name`'],
    ['`FROM Users`', '`from users`'],
    ['"Name"', '"name"'],
    ['a.b', 'a. b'],
    ['user@Example.org', 'user@example.org'],
  ],
};

describe('Folded texts', () => {
  for (const [kind, pairs] of Object.entries(replacements)) {
    it(`differ in ${kind}, wherever that is and however long the text`, () => {
      fc.assert(
        fc.property(sentence, fc.nat(), fc.constantFrom(...pairs), (words, place, [one, other]) => {
          const at = place % (words.length + 1);
          expect(folded(words.toSpliced(at, 0, one).join(' '))).not.to.equal(
            folded(words.toSpliced(at, 0, other).join(' ')),
          );
        }),
      );
    });
  }

  it('differ in any one word that is replaced, added or left out', () => {
    fc.assert(
      fc.property(sentence, fc.nat(), letters, (words, place, other) => {
        const at = place % words.length;
        const text = folded(words.join(' '));
        if (words[at] !== other) expect(folded(words.with(at, other).join(' '))).not.to.equal(text);
        expect(folded(words.toSpliced(at, 0, other).join(' '))).not.to.equal(text);
        expect(folded(words.toSpliced(at, 1).join(' '))).not.to.equal(text);
      }),
    );
  });

  it('are equal in other white space, in another case of plain words, and with a full stop', () => {
    const space = fc.constantFrom(' ', '  ', '\n', '\t', '\u00a0');
    const end = fc.constantFrom('', '.', '!', '。', ' ', '.\n');
    fc.assert(
      fc.property(sentence, space, end, (words, gap, final) => {
        const text = folded(words.join(' '));
        expect(folded(`${gap}${words.join(gap)}${final}`)).to.equal(text);
        const capital = words.map((word) => word[0]!.toUpperCase() + word.slice(1));
        expect(folded(`${capital.join(' ')}${final}`)).to.equal(text);
      }),
    );
  });

  for (const [one, other] of [
    ['cp a b .', 'cp a b'],
    ['git log HEAD..', 'git log HEAD.'],
    ['Are the tests green?', 'Are the tests green'],
    ['make a b', 'make a b/'],
    ['is 5!', 'is 5'],
  ] as const) {
    it(`tell ${one} and ${other} apart`, () => expect(folded(one)).not.to.equal(folded(other)));
  }

  it('of steps keep where each ends', () => {
    expect(folded('a', ['b c'])).not.to.equal(folded('a', ['b', 'c']));
    expect(folded('a', ['B.'])).to.equal(folded('A', ['b']));
  });

  it('stay as they are when they are folded again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const [once] = JSON.parse(folded(text)) as [string];
        fc.pre(!/[.!。！…]$/u.test(once));
        expect(folded(once)).to.equal(folded(text));
      }),
    );
  });
});

describe('Normalised texts', () => {
  it('do not change when they are normalised again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const once = normalised(text);
        expect(normalised(once)).to.equal(once);
      }),
    );
  });

  it('have the same 3-grams in any case, with any spaces and punctuation', () => {
    expect(normalised('  The  RELEASE\tis “ready”. ')).to.equal(normalised('the release is ready'));
  });

  it('are measured from 0 to 1, the same both ways', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const [x, y] = [trigrams(a), trigrams(b)];
        expect(jaccard(x, y)).to.equal(jaccard(y, x)).and.to.be.within(0, 1);
        expect(jaccard(x, x)).to.equal(1);
      }),
    );
  });
});
