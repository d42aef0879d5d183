import { expect } from 'chai';
import { planningInput, scratchText } from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { blobId } from '../../git/blobs.ts';
import { createPatchPlanner } from './patch-planner.ts';

const hello = 'def hello(name):\n    if not name:\n        return "you"\n\n    return name\n';
const better = hello.replace('"you"', '"friend"');
const diff =
  '--- a/hello.py\n+++ b/hello.py\n@@ -1,5 +1,5 @@\n def hello(name):\n     if not name:\n-        return "you"\n+        return "friend"\n\n     return name\n';
const gitDiff = `diff --git a/hello.py b/hello.py\nindex 1111111..2222222 100644\n${diff}`;

const indented = (text: string, by: string) => text.replace(/^(?=.)/gm, by);
const coloured = (text: string) =>
  text
    .replace(/^(diff|index|---|\+\+\+)(.*)$/gm, '\u001b[1m$1$2\u001b[m')
    .replace(/^@@ (.*) @@$/gm, '\u001b[36m@@ $1 @@\u001b[m')
    .replace(/^-( .*)$/gm, '\u001b[31m-$1\u001b[m')
    .replace(/^\+( .*)$/gm, '\u001b[32m+\u001b[m\u001b[32m$1\u001b[m');
const fenced = (text: string) => `\`\`\`diff\n${text}\`\`\`\n`;

const read: readonly [string, string][] = [
  ['a block that is indented by four spaces', `Please apply:\n\n${indented(diff, '    ')}\nThanks!`],
  ['a block that is indented by a tab', `Please apply:\n\n${indented(gitDiff, '\t')}\nThanks!`],
  ['an indented block in a list', `1. do this:\n\n${indented(gitDiff, '       ')}\n2. release`],
  ['an indented block in a quote', `Mira wrote\n\n${indented(diff, '    ')}`.replace(/^/gm, '> ')],
  ['a fenced block with an indented diff', fenced(indented(gitDiff, '  '))],
  ['colours of a terminal', fenced(coloured(gitDiff))],
  ['a coloured diff that is indented', indented(coloured(diff), '    ')],
  [
    'a mail of git format-patch in an indented block',
    indented(
      `From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: Mira <m@example.org>\nSubject: [PATCH] Greet friends\n\n---\n hello.py | 2 +-\n\n${gitDiff}-- \n2.39.5\n`,
      '    ',
    ),
  ],
];

const named: readonly [string, string, RegExp][] = [
  [
    'a combined diff of a merge',
    fenced(
      'diff --cc hello.py\nindex 1111111,2222222..3333333\n--- a/hello.py\n+++ b/hello.py\n@@@ -1,2 -1,2 +1,2 @@@\n  def hello(name):\n- a\n -b\n++c\n',
    ),
    /line 2: this is a combined diff .*git diff BASE MERGE/,
  ],
  [
    'a combined diff without its first lines',
    fenced('@@@ -1,2 -1,2 +1,2 @@@\n  def hello(name):\n++c\n'),
    /combined diff/,
  ],
  [
    'a context diff',
    '*** hello.py\t2026-01-01\n--- hello.py\t2026-01-02\n***************\n*** 1,2 ****\n  def hello(name):\n!     if not name:\n--- 1,2 ----\n  def hello(name):\n!     if name is None:\n',
    /context diff.*diff -u/,
  ],
  [
    'the rejected hunks of git apply',
    fenced('diff a/hello.py b/hello.py\t(rejected hunks)\n@@ -1 +1 @@\n-x\n+y\n'),
    /\.rej file/,
  ],
  [
    'the envelope of a coding agent',
    fenced('*** Begin Patch\n*** Update File: hello.py\n@@ def hello(name):\n-a\n+b\n*** End Patch\n'),
    /\*\*\* Begin Patch.*git diff/,
  ],
  [
    'a diff without context and names',
    '3c3\n<         return "you"\n---\n>         return "friend"\n',
    /diff -u/,
  ],
  [
    'colours without escape characters',
    fenced('[1mdiff --git a/hello.py b/hello.py[m\n[1m--- a/hello.py[m\n'),
    /--no-color/,
  ],
  [
    'a mail that is encoded for transport',
    `Content-Transfer-Encoding: quoted-printable\n\n${gitDiff.replace('"you"', '=22you=22')}`,
    /encoded for transport/,
  ],
];

describe('a form of patch', () => {
  const source = makeRepository({ 'hello.py': hello });

  async function plan(body: string) {
    const input = await planningInput(source, { body });
    return { input, proposal: await createPatchPlanner().propose(input) };
  }

  for (const [what, body] of read) {
    it(`is read: ${what}`, async () => {
      const { input, proposal } = await plan(body);
      if (proposal.kind === 'comment') throw new Error(proposal.body);
      expect(await scratchText(input.scratch, 'hello.py')).to.equal(better);
    });
  }

  for (const [what, body, words] of named) {
    it(`is refused by its name: ${what}`, async () => {
      const { proposal } = await plan(body);
      if (proposal.kind === 'change') throw new Error('a change was proposed');
      expect(proposal.body).to.match(words);
    });
  }

  describe('that names several files', () => {
    const abc = 'a\nb\nc\n';
    const two = makeRepository({ 'x.c': abc, 'y.c': abc, 'z.c': `${abc}z\n` });
    const hunk = '@@ -2 +2 @@\n-b\n+B\n';
    const edit = (path: string) => `--- a/${path}\n+++ b/${path}\n${hunk}`;
    const rename = 'diff --git a/x.c b/w.c\nsimilarity index 100%\nrename from x.c\nrename to w.c\n';
    const copy = rename.replaceAll('rename', 'copy');
    const and = '```\nand\n```diff\n';

    async function propose(patch: string) {
      const input = await planningInput(two, { body: fenced(patch) });
      const proposal = await createPatchPlanner().propose(input);
      const text = (path: string) => scratchText(input.scratch, path);
      return { proposal, x: await text('x.c'), y: await text('y.c'), w: await text('w.c') };
    }

    const renamed: readonly [string, string][] = [
      ['edited and then renamed', `${edit('x.c')}${rename}`],
      ['edited and then renamed in two blocks', `${edit('x.c')}${and}${rename}`],
      ['renamed and then edited', `${rename}diff --git a/w.c b/w.c\n${edit('w.c')}`],
      ['renamed and then edited in two blocks', `${rename}${and}${edit('w.c')}`],
    ];
    for (const [what, patch] of renamed) {
      it(`makes one change of a file that is ${what}`, async () => {
        const { x, w } = await propose(patch);
        expect({ x, w }).to.deep.equal({ x: null, w: 'a\nB\nc\n' });
      });
    }

    it('notes that a copy is of the file before its change, where nothing says so', async () => {
      const { proposal, x, w } = await propose(`${edit('x.c')}${copy}`);
      expect({ x, w }).to.deep.equal({ x: 'a\nB\nc\n', w: abc });
      if (proposal.kind === 'comment') throw new Error(proposal.body);
      expect(proposal.notices!.join()).to.match(/w\.c: .*copy of x\.c .*before/);
    });

    it('follows the index line of a copy of a changed file', async () => {
      const [old, now] = [abc, 'a\nB\nc\n'].map((text) => blobId(40, Buffer.from(text)));
      const names = '--- a/x.c\n+++ b/w.c\n';
      const changed = `diff --git a/x.c b/x.c\nindex ${old}..${now} 100644\n${edit('x.c')}`;
      const later = `${copy}index ${now}..${'1'.repeat(40)} 100644\n${names}@@ -3 +3 @@\n-c\n+C\n`;
      expect(await propose(changed + later)).to.deep.include({ x: 'a\nB\nc\n', w: 'a\nB\nC\n' });
      const same = later.replace(now!, old!);
      expect(await propose(changed + same)).to.deep.include({ x: 'a\nB\nc\n', w: 'a\nb\nC\n' });
    });

    const refused: readonly [string, string, RegExp][] = [
      [
        'two files without a rename',
        `diff --git a/x.c b/y.c\n--- a/x.c\n+++ b/y.c\n${hunk}`,
        /x\.c.*y\.c.*rename from/,
      ],
      [
        'a new name without a rename',
        `diff --git a/x.c b/w.c\n--- a/x.c\n+++ b/w.c\n${hunk}`,
        /x\.c.*w\.c.*rename from/,
      ],
      [
        'two files in its first line only',
        'diff --git a/x.c b/y.c\nold mode 100644\nnew mode 100755\n',
        /x\.c.*y\.c.*rename from/,
      ],
      [
        'one file in its first line and another below',
        `diff --git a/x.c b/x.c\n${edit('y.c')}`,
        /contradict.*(?:x\.c.*y\.c|y\.c.*x\.c)/,
      ],
      ['a rename and another file below', `${rename}${edit('y.c')}`, /contradict.*(?:x\.c.*y\.c|y\.c.*x\.c)/],
      [
        'a rename of another file',
        rename.replace('from x.c', 'from y.c'),
        /contradict.*(?:x\.c.*y\.c|y\.c.*x\.c)/,
      ],
      ['two files of the repository', `--- a/x.c\n+++ b/y.c\n${hunk}`, /x\.c.*y\.c.*both/],
    ];
    for (const [what, patch, words] of refused) {
      it(`is refused if it names ${what}`, async () => {
        const { proposal, x, y } = await propose(patch);
        expect({ x, y }).to.deep.equal({ x: abc, y: abc });
        expect(proposal).to.have.property('body').that.matches(words);
      });
    }

    it('changes the only file that the repository has of two names', async () => {
      for (const names of ['--- x.c.orig\n+++ x.c\n', '--- a/x.c\n+++ b/x.c.new\n']) {
        expect(await propose(names + hunk)).to.include({ x: 'a\nB\nc\n' });
      }
    });
  });

  it('is not taken from the lines of another patch', async () => {
    const text = '    --- a/hello.py\n    +++ b/hello.py\n    @@ -1 +0,0 @@\n    -def hello(name):\n';
    const notes = makeRepository({ 'hello.py': hello, 'notes.md': `${text}*** Begin Patch\nend\n` });
    const context = `${text}*** Begin Patch\n`.replace(/^(?=.)/gm, ' ');
    const body = fenced(`--- a/notes.md\n+++ b/notes.md\n@@ -1,6 +1,6 @@\n${context}-end\n+End\n`);
    const input = await planningInput(notes, { body });
    const proposal = await createPatchPlanner().propose(input);
    if (proposal.kind === 'comment') throw new Error(proposal.body);
    expect(await scratchText(input.scratch, 'notes.md')).to.match(/End\n$/);
    expect(await scratchText(input.scratch, 'hello.py')).to.equal(hello);
  });
});
