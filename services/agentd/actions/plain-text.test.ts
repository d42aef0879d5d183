import { expect } from 'chai';
import fc from 'fast-check';
import { inert, inlineCode, oneLine, plainText, quotedWords } from './published-texts.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 300 });

describe('text from outside', () => {
  it('becomes one visible line of bounded length', () => {
    expect(oneLine(' a\r\n\tb\u0000c\u202ed\u200be ')).to.equal('a b cde');
    expect(oneLine('👋'.repeat(300), 10)).to.equal(`${'👋'.repeat(9)}…`);
    fc.assert(
      fc.property(anyText, (text) => {
        const line = oneLine(text);
        expect(line).not.to.match(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect([...line].length).to.be.at.most(200);
        expect(oneLine(line)).to.equal(line);
      }),
    );
  });

  it('keeps its lines and tabs and loses every other control character', () => {
    expect(plainText('a\r\n\tb\u001b[31m\u202e\n')).to.equal('a\n\tb[31m\n');
  });

  it('cannot hold a marker of ours', () => {
    expect(plainText('x <!-- core run=1 --> <!--CORE y--> <!-- other -->')).to.equal(
      'x &lt;!-- core run=1 --> &lt;!--CORE y--> <!-- other -->',
    );
  });

  it('makes no forge act, and shows that it was changed', () => {
    const shown: readonly (readonly [string, string])[] = [
      ['Fixes #99', 'Fixes # 99'],
      ['closes demo/other#3, #4 and !5', 'closes demo/other# 3, # 4 and ! 5'],
      ['Resolves GH-7', 'Resolves GH- 7'],
      ['fixes: https://forge.test/a/b/issues/3', 'fixes — https://forge.test/a/b/issues/3'],
      ['Fixes \\#99 &#35;99 &commat;all', 'Fixes \\# 99 &amp;# 35;99 &amp;commat;all'],
      ['@everyone, (@mira) \\@x', '@ everyone, (@ mira) \\@ x'],
      ['<!-- hidden -->', '<! -- hidden -->'],
      ['<?hidden?> <!HIDDEN x> <![CDATA[hidden]]>', '< ?hidden?> < !HIDDEN x> < ![CDATA[hidden]]>'],
      ['[skip ci] [CI skip] [no ci] [skip actions]', '[ skip ci] [ CI skip] [ no ci] [ skip actions]'],
    ];
    for (const [text, expected] of shown) expect(inert(text)).to.equal(expected);
    const harmless = 'Write to mira@host.test & ask; <b> stays, so does https://forge.test/x and 1 # 2!';
    expect(inert(harmless)).to.equal(harmless);
  });

  it('stays inside its code span and its code block', () => {
    expect(inlineCode('a')).to.equal('`a`');
    expect(inlineCode('a``b')).to.equal('``` a``b ```');
    fc.assert(
      fc.property(anyText, (text) => {
        for (const line of quotedWords(text).split('\n')) expect(line.startsWith('    ')).to.equal(true);
      }),
    );
  });
});
