import { expect } from 'chai';
import { planningInput, scratchText } from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { createPatchPlanner } from './patch-planner.ts';

const braces = 'int f()\n{\n  return 1;\n}\n\nint g()\n{\n  return 2;\n}\n';
const blocks = `top\n${'begin\n  step\nend\n'.repeat(5)}`;
const python = 'def hello(name):\n    if not name:\n        return "you"\n    return name\n';
const files = {
  'f.c': braces,
  'blocks.txt': blocks,
  'hello.py': python,
  'empty.txt': '',
  'open.txt': 'one\ntwo',
  'crlf.txt': 'one\r\ntwo\r\nthree\r\n',
  'twins.c': 'int a;\n}\n\nint b;\n',
  'calls.c': 'a();\na();\nb();\n',
  'drifted.c': 'NEW\nfn a {\n}\nfn b {\n}',
  'toggle.txt': 'x\nnew\nq\nold\n',
  'many.txt': Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join(''),
};

type Path = keyof typeof files;

/** What a hunk makes of its file, and words of the notes: none means that there is no note. */
const applied: readonly [string, Path, string, string, RegExp?][] = [
  [
    'a change of one line without context, of a line that occurs twice',
    'f.c',
    '@@ -4 +4 @@\n-}\n+} // f\n',
    braces.replace('}', '} // f'),
    /line 4 .* also in 1 other place: line 9/,
  ],
  [
    'the same further down',
    'f.c',
    '@@ -9 +9 @@\n-}\n+} // g\n',
    braces.replace(/}\n$/, '} // g\n'),
    /line 9 .* line 4/,
  ],
  [
    'an insertion without context',
    'f.c',
    '@@ -2,0 +3 @@\n+  log();\n',
    braces.replace('{\n', '{\n  log();\n'),
    /after line 2 .* not verified/,
  ],
  [
    'an insertion at the top',
    'f.c',
    '@@ -0,0 +1,2 @@\n+// a\n+// b\n',
    `// a\n// b\n${braces}`,
    /not verified/,
  ],
  ['an insertion at the end', 'f.c', '@@ -9,0 +10 @@\n+// z\n', `${braces}// z\n`, /after line 9/],
  ['an insertion into an empty file', 'empty.txt', '@@ -0,0 +1 @@\n+x\n', 'x\n', /not verified/],
  ['a deletion without context', 'f.c', '@@ -8 +7,0 @@\n-  return 2;\n', braces.replace('  return 2;\n', '')],
  ['a deletion of the first line', 'hello.py', '@@ -1 +0,0 @@\n-def hello(name):\n', python.slice(17)],
  [
    'a hunk without trailing context',
    'f.c',
    '@@ -4 +4,2 @@\n }\n+// after f\n',
    braces.replace('}\n', '}\n// after f\n'),
    /also in 1 other place/,
  ],
  [
    'a hunk without leading context',
    'f.c',
    '@@ -7 +7,2 @@\n+// before g\n {\n',
    braces.replace('int g()\n', 'int g()\n// before g\n'),
    /also in 1 other place: line 2/,
  ],
  [
    'two lines that lie off by two',
    'hello.py',
    '@@ -5,2 +5,2 @@\n         return "you"\n-    return name\n+    return name.title()\n',
    python.replace('return name\n', 'return name.title()\n'),
    /the patch says line 5; applied at line 3, the only place/,
  ],
  [
    'several hunks without context, whose lines are counted before the change',
    'many.txt',
    '@@ -3,0 +4 @@\n+new\n@@ -10,2 +11,0 @@\n-line 10\n-line 11\n@@ -20 +19 @@\n-line 20\n+twenty\n',
    files['many.txt']
      .replace('line 3\n', 'line 3\nnew\n')
      .replace('line 10\nline 11\n', '')
      .replace('line 20\n', 'twenty\n'),
    /after line 3/,
  ],
  [
    'hunks in the wrong order',
    'many.txt',
    '@@ -30 +30 @@\n-line 30\n+thirty\n@@ -2 +2 @@\n-line 2\n+two\n',
    files['many.txt'].replace('line 30\n', 'thirty\n').replace('line 2\n', 'two\n'),
  ],
  [
    'a last line without a line break, replaced',
    'open.txt',
    '@@ -2 +2 @@\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n',
    'one\n2',
  ],
  [
    'a line added after a last line without a line break',
    'open.txt',
    '@@ -2 +2,2 @@\n-two\n\\ No newline at end of file\n+two\n+three\n',
    'one\ntwo\nthree\n',
  ],
  [
    'an insertion into a file with CRLF',
    'crlf.txt',
    '@@ -2,0 +3 @@\n+half\n',
    'one\r\ntwo\r\nhalf\r\nthree\r\n',
    /not verified/,
  ],
  [
    'an insertion of a blank line before a blank line',
    'twins.c',
    '@@ -2,0 +3 @@\n+\n',
    'int a;\n}\n\n\nint b;\n',
    /after line 2 .* not verified.* may be applied already/,
  ],
  [
    'an insertion of a line that follows already',
    'calls.c',
    '@@ -1,0 +2 @@\n+a();\n',
    'a();\na();\na();\nb();\n',
    /after line 1 .* may be applied already/,
  ],
  [
    'an insertion of a line that stands before it',
    'calls.c',
    '@@ -2,0 +3 @@\n+a();\n',
    'a();\na();\na();\nb();\n',
    /after line 2 as the patch says; it has no context lines, so the place is not verified$/,
  ],
  [
    'an insertion at the top of the line that is there',
    'calls.c',
    '@@ -0,0 +1 @@\n+a();\n',
    'a();\na();\na();\nb();\n',
    /may be applied already/,
  ],
  [
    'a change whose new line stands at its line, and whose old line is in one other place',
    'toggle.txt',
    '@@ -2 +2 @@\n-old\n+new\n',
    'x\nnew\nq\nnew\n',
    /says line 2; applied at line 4, the only place .* line 2 is already as the patch makes it/,
  ],
  ['a line that carries its CRLF', 'crlf.txt', '@@ -2 +2 @@\n-two\r\n+2\r\n', 'one\r\n2\r\nthree\r\n'],
];

const refused: readonly [string, Path, string, RegExp][] = [
  [
    'that matches in several places but not at its line',
    'blocks.txt',
    '@@ -40,3 +40,3 @@\n begin\n-  step\n+  leap\n end\n',
    /blocks\.txt, line 40: .* in 5 places: lines 2, 5, 8, 11, 14/,
  ],
  ['that matches nowhere', 'f.c', '@@ -4 +4 @@\n-};\n+} // f\n', /f\.c, line 4: /],
  [
    'that inserts behind the end without context',
    'f.c',
    '@@ -12,0 +13 @@\n+x\n',
    /f\.c, line 12: the file has no such line/,
  ],
  [
    'that inserts behind a last line without a line break',
    'open.txt',
    '@@ -2,0 +3 @@\n+three\n',
    /open\.txt, line 2: the last line of the file has no newline/,
  ],
  [
    'that removes the line break of a line in the middle',
    'f.c',
    '@@ -3 +3 @@\n-  return 1;\n+  return 1;\n\\ No newline at end of file\n',
    /f\.c, line 3: /,
  ],
  [
    'whose marker of a missing newline is lost, in a file that has moved and has its lines elsewhere',
    'drifted.c',
    '@@ -4 +4 @@\n-}\n+};\n',
    /drifted\.c, line 4: .* in 2 places: lines 3, 5/,
  ],
  [
    'whose line is the last one but for its newline too, in a file whose other parts have moved',
    'drifted.c',
    '@@ -1 +1 @@\n-fn a {\n+fn A {\n@@ -3 +3 @@\n-}\n+};\n',
    /drifted\.c, line 3: .* 2 places .* have moved/,
  ],
  [
    'that matches at its line and elsewhere, in a file whose other parts have moved',
    'blocks.txt',
    '@@ -4 +4 @@\n-end\n+END\n@@ -9 +9 @@\n-top\n+TOP\n',
    /blocks\.txt, line 4: .* 5 places .* have moved/,
  ],
  [
    'that inserts without context, in a file whose other parts have moved',
    'hello.py',
    '@@ -2,0 +3 @@\n+        # nobody\n@@ -7 +8 @@\n-    return name\n+    return name.title()\n',
    /hello\.py, line 2: .*no context.* have moved/,
  ],
  [
    'that overlaps another',
    'many.txt',
    '@@ -2,2 +2,1 @@\n-line 2\n line 3\n@@ -3,2 +2,1 @@\n-line 3\n line 4\n',
    /many\.txt, line 3: the hunk overlaps the hunk for line 2/,
  ],
  [
    'that inserts at the same place as another',
    'many.txt',
    '@@ -2,0 +3 @@\n+a\n@@ -2,0 +3 @@\n+b\n',
    /many\.txt, line 2: the hunk overlaps/,
  ],
];

describe('the place of a hunk', () => {
  const source = makeRepository(files);

  async function plan(path: string, hunks: string) {
    const body = `\`\`\`diff\n--- a/${path}\n+++ b/${path}\n${hunks}\`\`\`\n`;
    const input = await planningInput(source, { body });
    return { input, proposal: await createPatchPlanner().propose(input) };
  }

  for (const [what, path, hunks, wanted, words] of applied) {
    it(`is right for ${what}`, async () => {
      const { input, proposal } = await plan(path, hunks);
      if (proposal.kind === 'comment') throw new Error(proposal.body);
      expect(await scratchText(input.scratch, path)).to.equal(wanted);
      const notices = proposal.notices!.join('\n');
      if (words === undefined) expect(notices).to.equal('');
      else expect(notices).to.match(words).and.include(path);
    });
  }

  for (const [what, path, hunks, words] of refused) {
    it(`is refused for a hunk ${what}, naming file and line`, async () => {
      const { input, proposal } = await plan(path, hunks);
      if (proposal.kind === 'change') throw new Error((await scratchText(input.scratch, path)) ?? '');
      expect(proposal.body).to.match(words);
    });
  }

  it('is certain for a patch that names the content that it was made for', async () => {
    const fork = makeRepository({ 'f.c': braces });
    fork.commit({ 'f.c': braces.replace('{\n', '{\n  log();\n') });
    const patch = fork.git('diff', '-U0', 'HEAD~1', 'HEAD');
    fork.git('reset', '-q', '--hard', 'HEAD~1');
    const input = await planningInput(fork, { body: `\`\`\`diff\n${patch}\n\`\`\`\n` });
    const proposal = await createPatchPlanner().propose(input);
    expect(proposal).to.deep.include({ kind: 'change', notices: [] });
    expect(await scratchText(input.scratch, 'f.c')).to.equal(braces.replace('{\n', '{\n  log();\n'));
  });

  it('counts lines of a second block before or after the first one, and refuses where both fit', async () => {
    const two = (second: string) =>
      plan(
        'many.txt',
        `@@ -2,0 +3 @@\n+new\n\`\`\`\nand\n\`\`\`diff\n--- a/many.txt\n+++ b/many.txt\n${second}`,
      );
    for (const line of [20, 21]) {
      const { input } = await two(`@@ -${line} +${line} @@\n-line 20\n+twenty\n`);
      const wanted = files['many.txt'].replace('line 2\n', 'line 2\nnew\n').replace('line 20\n', 'twenty\n');
      expect(await scratchText(input.scratch, 'many.txt')).to.equal(wanted);
    }
    const { proposal } = await two('@@ -20,0 +21 @@\n+more\n');
    if (proposal.kind === 'change') throw new Error('both places fit');
    expect(proposal.body).to.match(/many\.txt, line 20: .* before or after/);
  });

  it('counts the lines of a file that takes the name of a deleted or renamed one as its own', async () => {
    const fork = makeRepository({ 'f.c': braces, 'hello.py': python, 'g.c': braces });
    fork.commit({ 'f.c': null });
    fork.commit({ 'hello.py': null, 'f.c': `${python}# end\n` });
    fork.commit({ 'g.c': `${braces}// g\n` });
    fork.commit({ 'g.c': null, 'h.c': `// h\n${braces}// g\n// end\n` });
    const wanted = fork.git('rev-parse', 'HEAD^{tree}');
    const patch = fork.git('log', '-p', '--reverse', '-U0', '--format=', 'HEAD~4..HEAD');
    for (const text of [patch, patch.replaceAll(/^index .*\n/gm, '')]) {
      fork.git('reset', '-q', '--hard', fork.git('rev-list', '--max-parents=0', 'HEAD'));
      const input = await planningInput(fork, { body: `\`\`\`diff\n${text}\n\`\`\`\n` });
      const proposal = await createPatchPlanner().propose(input);
      expect(proposal.kind, proposal.kind === 'comment' ? proposal.body : '').to.equal('change');
      expect((await input.scratch.diff()).tree).to.equal(wanted);
    }
  });

  it('follows the index lines of several commits that insert into one file without context', async () => {
    const fork = makeRepository({ 'many.txt': files['many.txt'] });
    const after = (text: string, line: number) => text.replace(`line ${line}\n`, `line ${line}\nnew\n`);
    const first = after(files['many.txt'], 2);
    fork.commit({ 'many.txt': first });
    fork.commit({ 'many.txt': after(first, 20) });
    const wanted = fork.git('rev-parse', 'HEAD^{tree}');
    const text = fork.git('log', '-p', '--reverse', '-U0', '--no-color', 'HEAD~2..HEAD');
    fork.git('reset', '-q', '--hard', 'HEAD~2');
    const input = await planningInput(fork, { body: `\`\`\`diff\n${text}\n\`\`\`\n` });
    const proposal = await createPatchPlanner().propose(input);
    expect(proposal.kind, proposal.kind === 'comment' ? proposal.body : '').to.equal('change');
    expect((await input.scratch.diff()).tree).to.equal(wanted);
  });
});
