import { expect } from 'chai';
import { planningInput } from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { createPatchPlanner } from './patch-planner.ts';

const code = 'int smaller(int a, int b)\n{\n\tif (a < b && a > "x"[0])\n\t\treturn a;\n\treturn b;\n}\n';
const files = {
  'code.c': code,
  'spaces.c': code.replaceAll('\t', '    '),
  'quotes.py': 'name = "Mira"\nprint(name)\nprint("done")\n',
  'nfc.txt': 'first\nBl\u00fcte\nlast\n',
  'nfd.txt': 'first\nBlu\u0308te\nlast\n',
  'western.txt': Buffer.from('first\nBl\u00fcte\nlast\n', 'latin1'),
  'trailing.txt': 'first  \nsecond\nthird\t\nfourth\n',
  'bom.txt': '\ufefffirst\nsecond\nthird\n',
  'open.txt': 'first\nlast',
  'blocks.rs': 'fn a {\n}\nfn b {\n}',
  'bodies.rs': 'fn a {\n  x\n}\nfn b {\n  x\n}',
  'calls.js': 'a\nlog();\nb\nlog();',
  'crlf.rs': 'fn a {\r\n}\r\nfn b {\r\n}',
  'mixed.rs': 'fn a {\r\n}\nfn b {\r\n}',
};
type Path = keyof typeof files;

const part = (path: string, hunk: string) => `\`\`\`diff\n--- a/${path}\n+++ b/${path}\n${hunk}\`\`\`\n`;
const hunk =
  '@@ -2,4 +2,4 @@\n {\n \tif (a < b && a > "x"[0])\n-\t\treturn a;\n+\t\treturn a + 0;\n \treturn b;\n';
const escaped = hunk.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const newline = /missing newline at the end of the file/;

/** A damaged patch, the words for its repair, and the file that comes out, in bytes. */
const repaired: readonly [string, Path, string, RegExp, string | Buffer][] = [
  ['HTML entities', 'code.c', escaped, /HTML entities/, code.replace('return a;', 'return a + 0;')],
  [
    'HTML entities in added lines too',
    'code.c',
    escaped.replace('a + 0', 'a &gt; 0 ? a : b'),
    /HTML entities/,
    code.replace('return a;', 'return a > 0 ? a : b;'),
  ],
  [
    'no-break spaces',
    'quotes.py',
    '@@ -1,2 +1,2 @@\n name\u00a0=\u00a0"Mira"\n-print(name)\n+print(name,\u00a0name)\n',
    /no-break spaces/,
    'name = "Mira"\nprint(name, name)\nprint("done")\n',
  ],
  [
    'typographic quotes',
    'quotes.py',
    '@@ -2,2 +2,2 @@\n print(name)\n-print(\u201cdone\u201d)\n+print(\u201cready\u201d)\n',
    /typographic quotes/,
    'name = "Mira"\nprint(name)\nprint("ready")\n',
  ],
  [
    'invisible characters',
    'quotes.py',
    '@@ -2 +2 @@\n-print(\u200bname)\n+print(name.upper())\n',
    /invisible characters/,
    'name = "Mira"\nprint(name.upper())\nprint("done")\n',
  ],
  [
    'the other Unicode form',
    'nfc.txt',
    '@@ -1,2 +1,2 @@\n first\n-Blu\u0308te\n+Blu\u0308ten\n',
    /NFD instead of NFC/,
    'first\nBl\u00fcten\nlast\n',
  ],
  [
    'the other Unicode form, the other way round',
    'nfd.txt',
    '@@ -1,2 +1,2 @@\n first\n-Bl\u00fcte\n+Bl\u00fcten\n',
    /NFC instead of NFD/,
    'first\nBlu\u0308ten\nlast\n',
  ],
  [
    'another encoding',
    'western.txt',
    '@@ -1,2 +1,2 @@\n first\n-Bl\u00fcte\n+Bl\u00fcten\n',
    /not UTF-8/,
    Buffer.from('first\nBl\u00fcten\nlast\n', 'latin1'),
  ],
  [
    'tabs written as spaces',
    'code.c',
    hunk.replaceAll('\t', '    '),
    /a tab written as 4 spaces/,
    code.replace('return a;', 'return a + 0;'),
  ],
  [
    'tabs copied from a terminal',
    'code.c',
    hunk.replaceAll('\t\t', `${' '.repeat(15)}`).replaceAll('\t', ' '.repeat(7)),
    /terminal/,
    code.replace('return a;', 'return a + 0;'),
  ],
  [
    'spaces written as tabs',
    'spaces.c',
    hunk,
    /4 spaces written as a tab/,
    files['spaces.c'].replace('return a;', 'return a + 0;'),
  ],
  [
    'trailing white space that an editor removed',
    'trailing.txt',
    '@@ -1,3 +1,3 @@\n first\n-second\n+2nd\n third\n',
    /trailing white space/,
    'first  \n2nd\nthird\t\nfourth\n',
  ],
  ['a lost marker of a missing newline', 'open.txt', '@@ -2 +2 @@\n-last\n+end\n', newline, 'first\nend'],
  [
    'a lost marker, where the last line is in another place too',
    'blocks.rs',
    '@@ -4 +4 @@\n-}\n+};\n',
    newline,
    'fn a {\n}\nfn b {\n};',
  ],
  [
    'a lost marker on the old side only',
    'blocks.rs',
    '@@ -4 +4 @@\n-}\n+};\n\\ No newline at end of file\n',
    newline,
    'fn a {\n}\nfn b {\n};',
  ],
  [
    'a lost marker, where lines are added behind the last one',
    'blocks.rs',
    '@@ -4 +4,2 @@\n }\n+// end of b\n',
    newline,
    'fn a {\n}\nfn b {\n}\n// end of b',
  ],
  [
    'a lost marker, where lines are added before and behind the last one',
    'blocks.rs',
    '@@ -4 +4,3 @@\n+  y\n }\n+// end of b\n',
    newline,
    'fn a {\n}\nfn b {\n  y\n}\n// end of b',
  ],
  [
    'a lost marker, with a line of context',
    'bodies.rs',
    '@@ -5,2 +5,2 @@\n   x\n-}\n+};\n',
    newline,
    'fn a {\n  x\n}\nfn b {\n  x\n};',
  ],
  [
    'a lost marker, where the last line is context',
    'bodies.rs',
    '@@ -5,2 +5,2 @@\n-  x\n+  y\n }\n',
    newline,
    'fn a {\n  x\n}\nfn b {\n  y\n}',
  ],
  [
    'a lost marker, where the last line is removed',
    'calls.js',
    '@@ -4 +3,0 @@\n-log();\n',
    newline,
    'a\nlog();\nb\n',
  ],
  [
    'a lost marker at the only place, which has moved',
    'open.txt',
    '@@ -1 +1 @@\n-last\n+end\n',
    newline,
    'first\nend',
  ],
  [
    'a lost marker in a file with CRLF',
    'crlf.rs',
    '@@ -4 +4,2 @@\n }\n+// end of b\n',
    newline,
    'fn a {\r\n}\r\nfn b {\r\n}\r\n// end of b',
  ],
  [
    'a lost marker in a patch that shows CRLF',
    'crlf.rs',
    '@@ -4 +4,2 @@\n-}\r\n+};\r\n+// end of b\r\n',
    newline,
    'fn a {\r\n}\r\nfn b {\r\n};\r\n// end of b',
  ],
  [
    'a lost marker in a file with CRLF and LF',
    'mixed.rs',
    '@@ -3,2 +3,2 @@\n-fn b {\r\n-}\n+fn c {\r\n+};\n',
    newline,
    'fn a {\r\n}\nfn c {\r\n};',
  ],
];

/** A patch that fits in no way or in several, and what the comment says of it. */
const reported: readonly [string, Path, string, RegExp[]][] = [
  [
    'other content',
    'quotes.py',
    '@@ -1,2 +1,2 @@\n name = "Otto"\n-print(name)\n+print(name, name)\n',
    [
      /quotes\.py, line 1: /,
      /line 1, expected: "name = "Otto""/,
      /line 1, found: +"name = "Mira""/,
      /other content/,
    ],
  ],
  [
    'a difference of two kinds',
    'quotes.py',
    '@@ -2,2 +2,2 @@\n print(\u00a0name)\n-print(\u201cdone\u201d)\n+print("ready")\n',
    [/expected: "print\(\\u\{a0\}name\)"/],
  ],
  [
    'a byte order mark',
    'bom.txt',
    '@@ -1,2 +1,2 @@\n-first\n+1st\n second\n',
    [/bom\.txt, line 1/, /found: +"\\u\{feff\}first"/, /a byte order mark in the file/],
  ],
  [
    'the newline at the end of the file, beside another difference',
    'open.txt',
    '@@ -1 +1 @@\n-1st\n+one\n@@ -2 +2 @@\n-last\n+end\n',
    [
      /open\.txt, line 2: the hunk fits at line 2, but the last line of the file has no newline/,
      /No newline at end of file/,
      /expected: "1st"/,
    ],
  ],
  [
    'a newline at the end of the file that the patch does not have',
    'quotes.py',
    '@@ -3 +3 @@\n-print("done")\n\\ No newline at end of file\n+print("ready")\n',
    [/quotes\.py, line 3/, /line 3: only the line break at its end differs/],
  ],
  [
    'lines behind the end of the file',
    'quotes.py',
    '@@ -3,2 +3,2 @@\n print("done")\n-print("more")\n+print("less")\n',
    [/line 4, found: +the end of the file/],
  ],
  [
    'a combination of tabs and spaces',
    'code.c',
    '@@ -4 +4 @@\n- \treturn a;\n+\t\treturn a + 0;\n',
    [/expected: " \\treturn a;"/, /difference: white space/],
  ],
];

describe('a patch that does not fit as it was written', () => {
  const source = makeRepository(files);

  async function plan(body: string) {
    const input = await planningInput(source, { body });
    return { input, proposal: await createPatchPlanner().propose(input) };
  }

  for (const [what, path, text, words, wanted] of repaired) {
    it(`is repaired and marked as repaired: ${what}`, async () => {
      const { input, proposal } = await plan(part(path, text));
      if (proposal.kind === 'comment') throw new Error(proposal.body);
      expect(Buffer.from((await input.scratch.read(path))!)).to.deep.equal(Buffer.from(wanted));
      expect(proposal.repair).to.match(words);
      expect(proposal.notices!.join('\n')).to.match(words).and.include('repaired');
      expect(proposal.explanation).to.match(words);
    });
  }

  for (const [what, path, text, words] of reported) {
    it(`is reported with the lines that differ: ${what}`, async () => {
      const { proposal } = await plan(part(path, text));
      if (proposal.kind === 'change') throw new Error(`repaired: ${proposal.repair}`);
      for (const word of words) expect(proposal.body).to.match(word);
    });
  }

  it('is not repaired if two repairs fit and make different trees', async () => {
    const blank = makeRepository({ 'a.txt': 'x\n\t\t\ny\n' });
    const body = part('a.txt', `@@ -1,3 +1,4 @@\n x\n ${' '.repeat(8)}\n+${' '.repeat(8)}z\n y\n`);
    const input = await planningInput(blank, { body });
    const proposal = await createPatchPlanner().propose(input);
    if (proposal.kind === 'change') throw new Error(`repaired: ${proposal.repair}`);
    expect(proposal.body).to.match(/several repairs .*4 spaces.*trailing white space/);
    expect((await input.scratch.diff()).patch).to.have.length(0);
  });

  it('repairs all files of a text in the same way or none', async () => {
    const other = part('quotes.py', '@@ -3 +3,2 @@\n print("done")\n+print(1 &lt; 2)\n');
    const { input, proposal } = await plan(part('code.c', escaped) + other);
    if (proposal.kind === 'comment') throw new Error(proposal.body);
    expect(proposal.repair).to.equal('HTML entities');
    expect(Buffer.from((await input.scratch.read('quotes.py'))!).toString()).to.include('print(1 < 2)');
  });

  it('asks about a patch that fits and seems to be escaped', async () => {
    const text = '@@ -2 +2 @@\n-print(name)\n+print(1 &lt; 2)\n';
    const { proposal } = await plan(part('quotes.py', text));
    expect(proposal.kind === 'comment' && proposal.body).to.match(/quotes\.py: the patch adds `&lt;`/);
    const raw = await plan(part('quotes.py', text.replace('1 &lt; 2', '"<".replace("<", "&lt;")')));
    expect(raw.proposal.kind).to.equal('change');
    const fork = makeRepository({ 'quotes.py': files['quotes.py'] });
    fork.commit({ 'quotes.py': files['quotes.py'].replace('(name)', '("&lt;")') });
    const patch = fork.git('diff', 'HEAD~1', 'HEAD');
    fork.git('reset', '-q', '--hard', 'HEAD~1');
    const input = await planningInput(fork, { body: `\`\`\`diff\n${patch}\n\`\`\`\n` });
    expect((await createPatchPlanner().propose(input)).kind).to.equal('change');
  });
});
