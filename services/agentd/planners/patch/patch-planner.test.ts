import { expect } from 'chai';
import {
  type IssueText,
  planningInput,
  scratchText,
} from '../../../../test/fixtures/planning/planning-input.ts';
import { processorTime } from '../../../../test/fixtures/processor-time.ts';
import { makeRepository, type TestRepository } from '../../../../test/fixtures/repositories/repository.ts';
import type { GitScratchCopy } from '../../planning/scratch-copy.ts';
import { createPatchPlanner } from './patch-planner.ts';

const greet = "export function greet(name) {\n  return 'Hello ' + name;\n}\n";
const better = greet.replace('+ name', "+ (name || 'stranger')");
const diff = [
  'diff --git a/src/greet.js b/src/greet.js',
  '--- a/src/greet.js',
  '+++ b/src/greet.js',
  '@@ -1,3 +1,3 @@',
  ' export function greet(name) {',
  "-  return 'Hello ' + name;",
  "+  return 'Hello ' + (name || 'stranger');",
  ' }',
  '',
].join('\n');
const plain = diff.split('\n').slice(1).join('\n');
const fenced = (text: string, info = 'diff') => `\`\`\`${info}\n${text}\`\`\`\n`;

describe('the patch planner', () => {
  const source = makeRepository({
    'src/greet.js': greet,
    'src/long.txt': Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join(''),
    'crlf.txt': 'eins\r\nzwei\r\ndrei\r\n',
    'mixed.txt': 'one\r\ntwo\nthree\n',
    'no-newline.txt': 'alpha\nomega',
    'a name with spaces.txt': 'x\n',
    'quote"d é.txt': 'x\n',
    'run.sh': { content: '#!/bin/sh\n', mode: 0o755 },
    'logo.bin': Buffer.from([0, 1, 2, 3, 0, 255, 254]),
    'blank.txt': 'first\n\n\nlast\n',
    link: { link: 'src' },
  });

  async function plan(text: IssueText, from: TestRepository = source) {
    const input = await planningInput(from, text);
    const proposal = await createPatchPlanner().propose(input);
    return { proposal, scratch: input.scratch };
  }

  async function change(text: IssueText | string, from = source) {
    const { proposal, scratch } = await plan(typeof text === 'string' ? { body: text } : text, from);
    if (proposal.kind !== 'change') throw new Error(`a comment was proposed: ${proposal.body}`);
    return { ...proposal, scratch };
  }

  async function comment(text: IssueText | string): Promise<string> {
    const { proposal, scratch } = await plan(typeof text === 'string' ? { body: text } : text);
    if (proposal.kind !== 'comment') throw new Error('a change was proposed');
    expect((await scratch.diff()).patch).to.have.length(0);
    return proposal.body;
  }

  const greeting = (scratch: GitScratchCopy) => scratchText(scratch, 'src/greet.js');

  const forms: [string, string][] = [
    ['a fenced git diff', `It is wrong.\n\n${fenced(diff)}\nThanks`],
    ['a fence marked patch', fenced(diff, 'patch')],
    ['a fence without a mark', fenced(diff, '')],
    ['a fence of tildes', `~~~~ diff\n${diff}~~~~\n`],
    ['a fence that is never closed', `\`\`\`diff\n${diff}`],
    ['a fence in a list', `1. do this:\n   ${fenced(diff).replaceAll('\n', '\n   ')}`],
    ['a fence right behind a bullet', `- ${fenced(diff).trimEnd().replaceAll('\n', '\n  ')}`],
    ['a bare diff in prose', `Please apply\n\n${diff}\nand release.`],
    ['a plain unified diff', fenced(plain)],
    ['a bare plain unified diff', `Please apply\n${plain}\n- and then release`],
    ['a diff without prefixes', fenced(plain.replace('a/src', 'src').replace('b/src', 'src'))],
    ['a git diff without prefixes', fenced(diff.replaceAll('a/src', 'src').replaceAll('b/src', 'src'))],
    ['a diff with mnemonic prefixes', fenced(diff.replaceAll('a/src', 'i/src').replaceAll('b/src', 'w/src'))],
    [
      'a diff of two folders with dates',
      fenced(
        plain
          .replace('a/src/greet.js', 'hello-1.0/src/greet.js\t2026-01-01 10:00:00.000000000 +0100')
          .replace('b/src/greet.js', 'hello-new/src/greet.js\t2026-01-02 10:00:00.000000000 +0100'),
      ),
    ],
    ['text with CRLF, as GitHub gives it', `Look:\n\n${fenced(diff)}`.replaceAll('\n', '\r\n')],
    [
      'a mail of git format-patch',
      `From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: Mira <m@example.org>\nSubject: [PATCH] Greet strangers\n\n---\n src/greet.js | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n${diff}-- \n2.39.5\n`,
    ],
    ['a diff whose lines lie off', fenced(plain.replace('-1,3 +1,3', '-2,3 +2,3'))],
    [
      'a suggestion with path and line',
      `src/greet.js:2\n${fenced("  return 'Hello ' + (name || 'stranger');\n", 'suggestion')}`,
    ],
    [
      'a suggestion with a range of lines',
      `\`src/greet.js#L1-L2\`\n\n${fenced(`${better.split('\n').slice(0, 2).join('\n')}\n`, 'suggestion')}`,
    ],
    [
      'a suggestion in words',
      `In \`src/greet.js\` line 2 I would write\n${fenced("  return 'Hello ' + (name || 'stranger');\n", 'suggestion')}`,
    ],
    [
      'a suggestion under a permanent link',
      `https://github.com/demo/hello/blob/${source.git('rev-parse', 'HEAD')}/src/greet.js#L2\n${fenced("  return 'Hello ' + (name || 'stranger');\n", 'suggestion')}`,
    ],
  ];
  for (const [what, body] of forms) {
    it(`takes ${what}`, async () => {
      const { scratch, title } = await change(body);
      expect(await greeting(scratch)).to.equal(better);
      expect(title).to.equal('Greeting is wrong');
    });
  }

  it('makes one change of all blocks of a text, diffs and suggestions together', async () => {
    const body = `${fenced(diff)}\nand src/long.txt lines 10-12\n${fenced('ten to twelve\n', 'suggestion')}\nalso in src/long.txt:20\n${fenced('', 'suggestion')}\n${fenced('--- a/src/long.txt\n+++ b/src/long.txt\n@@ -1,2 +1,3 @@\n+line 0\n line 1\n line 2\n')}`;
    const { scratch, explanation } = await change(body);
    expect(await greeting(scratch)).to.equal(better);
    const lines = (await scratchText(scratch, 'src/long.txt'))!.split('\n');
    expect(lines.slice(0, 2)).to.deep.equal(['line 0', 'line 1']);
    expect(lines).to.include('ten to twelve').and.not.include.members(['line 11']);
    expect(lines).not.to.include('line 20');
    expect(explanation).to.include('`src/greet.js`, `src/long.txt`');
  });

  it('keeps renames, modes, binary content, odd names and deletions as git wrote them', async () => {
    const fork = makeRepository({}, undefined);
    fork.commit({
      'a name with spaces.txt': 'x\n',
      'quote"d é.txt': 'x\n',
      'run.sh': { content: '#!/bin/sh\n', mode: 0o755 },
      'logo.bin': Buffer.from([0, 1, 2, 3, 0, 255, 254]),
      'gone.txt': 'bye\n',
      'old/moved.txt': 'one\ntwo\nthree\nfour\nfive\n',
    });
    fork.commit({
      'a name with spaces.txt': 'y\n',
      'quote"d é.txt': 'y\n',
      'run.sh': '#!/bin/sh\n',
      'logo.bin': Buffer.from([9, 0, 9, 255]),
      'gone.txt': null,
      'old/moved.txt': null,
      'new folder/moved.txt': 'one\ntwo\nthree\nfour\n5\n',
      empty: '',
      'made.bin': Buffer.from(Array.from({ length: 300 }, (_, index) => index % 256)),
    });
    const wanted = fork.git('rev-parse', 'HEAD^{tree}');
    const patch = `${fork.git('diff', '--binary', '-M', 'HEAD~1', 'HEAD')}\n`;
    expect(patch).to.include('rename from').and.include('GIT binary patch').and.include('old mode');
    fork.git('reset', '-q', '--hard', 'HEAD~1');
    for (const body of [fenced(patch), `${patch}\n`, fenced(patch).replaceAll('\n', '\r\n')]) {
      const { scratch } = await change(body, fork);
      expect((await scratch.diff()).tree).to.equal(wanted);
    }
  });

  it('keeps the line ends of the file that it changes, whatever the issue’s text has', async () => {
    const patch = '--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,3 +1,3 @@\n eins\n-zwei\n+two\n drei\n';
    for (const body of [fenced(patch), fenced(patch).replaceAll('\n', '\r\n')]) {
      const { scratch } = await change(body);
      expect(await scratchText(scratch, 'crlf.txt')).to.equal('eins\r\ntwo\r\ndrei\r\n');
    }
    const suggested = await change(`crlf.txt:2\n${fenced('two\nhalf\n', 'suggestion')}`);
    expect(await scratchText(suggested.scratch, 'crlf.txt')).to.equal('eins\r\ntwo\r\nhalf\r\ndrei\r\n');
    const mixed = await change(
      fenced('--- a/mixed.txt\n+++ b/mixed.txt\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n'),
    );
    expect(await scratchText(mixed.scratch, 'mixed.txt')).to.equal('one\r\ntwo\n3\n');
  });

  it('keeps a missing newline at the end, and adds one only where the patch does', async () => {
    const none = '\\ No newline at end of file\n';
    const head = '--- a/no-newline.txt\n+++ b/no-newline.txt\n@@ -1,2 +1,2 @@\n';
    const kept = await change(fenced(`${head}-alpha\n+beta\n omega\n${none}`));
    expect(await scratchText(kept.scratch, 'no-newline.txt')).to.equal('beta\nomega');
    const added = await change(fenced(`${head} alpha\n-omega\n${none}+omega\n`));
    expect(await scratchText(added.scratch, 'no-newline.txt')).to.equal('alpha\nomega\n');
    const suggested = await change(`no-newline.txt:2\n${fenced('end\n', 'suggestion')}`);
    expect(await scratchText(suggested.scratch, 'no-newline.txt')).to.equal('alpha\nend');
  });

  it('takes context lines whose only space an editor removed', async () => {
    const { scratch } = await change(
      fenced('--- a/blank.txt\n+++ b/blank.txt\n@@ -1,4 +1,4 @@\n first\n\n\n-last\n+end\n'),
    );
    expect(await scratchText(scratch, 'blank.txt')).to.equal('first\n\n\nend\n');
  });

  it('creates and deletes files from plain diffs, also as GNU diff writes them', async () => {
    const made = await change(fenced('--- /dev/null\n+++ b/docs/new.md\n@@ -0,0 +1 @@\n+# New\n'));
    expect(await scratchText(made.scratch, 'docs/new.md')).to.equal('# New\n');
    const gnu = await change(
      fenced(
        '--- old/docs/new.md\t1970-01-01 00:00:00.0 +0000\n+++ new/docs/new.md\t2026-01-01 00:00:00.0 +0000\n@@ -0,0 +1 @@\n+# New\n',
      ),
    );
    expect(await scratchText(gnu.scratch, 'docs/new.md')).to.equal('# New\n');
    const gone = await change(fenced('--- a/run.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh\n'));
    expect(await gone.scratch.list()).not.to.include('run.sh');
  });

  it('prefers the newest text, and says which it took and which not', async () => {
    const newer = diff.replaceAll('stranger', 'friend');
    const broken = diff.replace("-  return 'Hello", "-  return 'Hi");
    const { scratch, explanation, influences } = await change({
      body: fenced(diff),
      comments: [
        { body: fenced(newer), by: 'ada' },
        { body: 'thanks!' },
        { body: fenced(broken), by: 'otto' },
      ],
    });
    expect(await greeting(scratch)).to.include('friend');
    expect(explanation).to.match(/from comment 1 by ada/);
    expect(explanation).to.match(/Not used: the patch from comment 3 by otto/);
    expect(explanation).to.match(
      /Alternative: the patch from the issue’s text applies too, with another result/,
    );
    expect(influences).to.deep.equal([
      { kind: 'issue', source: 'demo/hello#1', author: 'mira', trusted: true },
      { kind: 'comment', source: 'comment 1 by ada', author: 'ada', trusted: true },
    ]);
  });

  it('never lets an outsider’s later patch win over one by somebody who may write', async () => {
    const evil = diff.replaceAll('stranger', 'evil');
    const { scratch } = await change({
      body: fenced(diff),
      comments: [{ body: fenced(evil), by: 'eve', association: 'none' }],
    });
    expect(await greeting(scratch)).to.equal(better);
  });

  it('marks an outsider’s patch as untrusted', async () => {
    const { influences, explanation } = await change({
      body: 'please',
      comments: [{ body: fenced(diff), by: 'eve', association: 'contributor' }],
    });
    expect(influences.at(-1)).to.include({ author: 'eve', trusted: false });
    expect(explanation).to.include('no write access');
  });

  it('does not take a quote for the words of the one who quotes', async () => {
    const evil = diff.replaceAll('stranger', 'evil');
    const quote = fenced(evil)
      .split('\n')
      .map((line) => `> ${line}`)
      .join('\n');
    const both = await change({
      body: 'broken',
      comments: [
        { body: fenced(diff), by: 'ada' },
        { body: `${quote}\n\nNo, never!`, by: 'otto', association: 'owner' },
      ],
    });
    expect(await greeting(both.scratch)).to.equal(better);
    const alone = await change({ body: 'x', comments: [{ body: quote, by: 'otto', association: 'owner' }] });
    expect(alone.influences.at(-1)).to.include({ trusted: false });
    expect(alone.explanation).to.include('quote');
  });

  it('does not see a patch in an HTML comment, which nobody who reads the issue sees', async () => {
    expect(await comment(`Hello\n<!--\n${fenced(diff)}\n-->\nbye`)).to.include('no patch in this issue yet');
  });

  it('passes over diffs of test output when there is a patch beside them', async () => {
    const output = fenced('- Expected\n+ Received\n\n- "a"\n+ "b"\n');
    const { scratch, explanation } = await change(`${output}\n${fenced(diff)}`);
    expect(await greeting(scratch)).to.equal(better);
    expect(explanation).to.include('a block that named no file');
    expect(await comment(output)).to.match(/does not name a file/);
  });

  it('asks for a patch, by name and in a friendly way, where there is none', async () => {
    const body = await comment({ body: 'It says "Hello undefined".', by: 'ada' });
    expect(body).to.match(/^Hello ada, thank you/);
    expect(body).to.include('git diff').and.include('suggestion').and.include('src/greet.js:12');
    expect(await comment({ body: '' })).to.equal(await comment({ body: '', comments: [] }));
  });

  const failures: [string, string, RegExp][] = [
    ['that is for other content', diff.replace("-  return 'Hello", "-  return 'Hi"), /src\/greet\.js/],
    ['for a file that is not there', diff.replaceAll('greet.js', 'meet.js'), /src\/meet\.js/],
    ['that is cut off', `${diff.split('\n').slice(0, 5).join('\n')}\n`, /line 6: hunk .*cut off/],
    ['with more lines than it says', diff.replace(' }\n', ' }\n+// more\n'), /more lines/],
    [
      'of a binary file without content',
      'diff --git a/logo.bin b/logo.bin\nindex 1..2 100644\nBinary files a/logo.bin and b/logo.bin differ\n',
      /git diff --binary/,
    ],
    ['with ..', '--- /dev/null\n+++ b/../evil\n@@ -0,0 +1 @@\n+x\n', /\.\.\/evil/],
    ['into the git folder', '--- /dev/null\n+++ b/.GIT/hooks/pre-push\n@@ -0,0 +1 @@\n+x\n', /GIT\/hooks/],
    ['with an absolute path', '--- /dev/null\n+++ /etc/evil\n@@ -0,0 +1 @@\n+x\n', /etc\/evil/],
    ['through a link', '--- /dev/null\n+++ b/link/evil\n@@ -0,0 +1 @@\n+x\n', /link\/evil/],
    [
      'that makes a link out of the tree',
      'diff --git a/out b/out\nnew file mode 120000\n--- /dev/null\n+++ b/out\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n',
      /out/,
    ],
    [
      'that changes nothing',
      plain.replace("+  return 'Hello ' + (name || 'stranger');", "+  return 'Hello ' + name;"),
      /changes nothing/,
    ],
  ];
  for (const [what, patch, words] of failures) {
    it(`says why a patch ${what} cannot be used`, async () => {
      const body = await comment(`please\n${fenced(patch)}`);
      expect(body).to.match(/^The patch from the issue’s text cannot be used on `main`:/);
      expect(body).to.match(words);
      expect(body).to.include('update it for the latest');
    });
  }

  it('says what a suggestion lacks', async () => {
    const cases: [string, RegExp][] = [
      [`just do\n${fenced('x\n', 'suggestion')}`, /which file and lines/],
      [`src/none.js:3\n${fenced('x\n', 'suggestion')}`, /src\/none\.js.*not a text file/],
      [`src/greet.js:99\n${fenced('x\n', 'suggestion')}`, /lines 99 to 99 .*has 3/],
      [`logo.bin:1\n${fenced('x\n', 'suggestion')}`, /not a text file/],
      [
        `src/greet.js:1-2\n${fenced('x\n', 'suggestion')}\nsrc/greet.js:2\n${fenced('y\n', 'suggestion')}`,
        /two suggestions replace line 2/,
      ],
      [`../../etc/passwd:1\n${fenced('x\n', 'suggestion')}`, /not a text file/],
    ];
    for (const [body, words] of cases) expect(await comment(body)).to.match(words);
  });

  it('applies all of a text or nothing of it', async () => {
    const body = await comment(`${fenced(diff)}\n${fenced(diff.replaceAll('greet.js', 'none.js'))}`);
    expect(body).to.include('none.js');
  });

  it('shows at most three failures, and its own comments hold no patch', async () => {
    const broken = fenced(diff.replace("-  return 'Hello", "-  return 'Hi"));
    const said = await comment({
      body: broken,
      comments: Array.from({ length: 4 }, () => ({ body: broken })),
    });
    expect(said.match(/cannot be used on/g)).to.have.length(3);
    expect(said).to.include('2 older ones');
    for (const body of [said, await comment('nothing here')]) {
      expect(await comment(body)).to.include('no patch in this issue yet');
    }
  });

  it('makes outsiders’ words harmless in title and comments', async () => {
    const { title } = await change({
      body: fenced(diff),
      title: 'Fix\r\n\u001b[31m\u202ethe   greeting\u0000 ',
    });
    expect(title).to.equal('Fix [31mthe greeting');
    const untitled = await change({ body: fenced(diff), title: ' \u0000 ' });
    expect(untitled.title).to.equal('Apply the patch of issue 1');
    const hostile = diff.replaceAll('src/greet.js', '@everyone\u001b]0;x');
    const body = await comment(fenced(hostile));
    expect(body).not.to.match(/[\u0000-\u0008\u001b]/);
    for (const line of body.split('\n').filter((text) => text.includes('@everyone'))) {
      expect(line).to.match(/^ {4}/);
    }
  });

  it('stays quick with a text of a megabyte', async () => {
    const noise =
      '> `a/b:'.repeat(20_000) +
      '\n' +
      '--- a\n+++ b\n'.repeat(30_000) +
      '```suggestion\nx\n```\n'.repeat(5_000);
    const spent = processorTime();
    await plan({ body: `${noise}@@ -1,99999999 +1,99999999 @@\n` });
    expect(spent()).to.be.below(15_000);
  });
});
