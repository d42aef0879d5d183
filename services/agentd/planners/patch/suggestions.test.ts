import { expect } from 'chai';
import { planningInput, scratchText } from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { createPatchPlanner } from './patch-planner.ts';

const old = 'int f()\n{\n  return 1;\n}\n\nint g()\n{\n  return 2;\n}\n';
const now = `// a\n// b\n${old.replace('return 2', 'return 3')}`;
const block = (text = '  return 42;\n') => `\n\n\`\`\`suggestion\n${text}\`\`\`\n`;

describe('the place of a suggestion', () => {
  const source = makeRepository({ 'f.c': old, 'a.js': '1\n2\n3\n4\n', 'b.js': '1\n2\n3\n4\n5\n' });
  source.commit({ 'f.c': now });
  const [before, today] = ['HEAD~1', 'HEAD'].map((name) => source.git('rev-parse', name));

  async function plan(body: string) {
    const input = await planningInput(source, { body });
    const proposal = await createPatchPlanner().propose(input);
    const text = (path: string) => scratchText(input.scratch, path);
    return { proposal, f: await text('f.c'), a: await text('a.js'), b: await text('b.js') };
  }

  async function change(body: string) {
    const { proposal, ...rest } = await plan(body);
    if (proposal.kind === 'comment') throw new Error(proposal.body);
    return { notes: proposal.notices!.join('\n'), ...rest };
  }

  const link = (ref: string, site = 'github.com/demo/hello/blob') => `See https://${site}/${ref}/f.c`;

  it('follows the lines of the commit that a permanent link names', async () => {
    for (const site of ['github.com/demo/hello/blob', 'git.example/fork/hello/src/commit']) {
      for (const ref of [before!, before!.slice(0, 10)]) {
        const { f, notes } = await change(`${link(ref, site)}#L3${block()}`);
        expect(f).to.equal(now.replace('return 1', 'return 42'));
        expect(notes).to.match(/f\.c: the text says line 3 of commit \w+; now at line 5/);
      }
    }
    const { f, notes } = await change(`[f.c:5](${link(today!).slice(4)}#L5)${block()}`);
    expect(f).to.equal(now.replace('return 1', 'return 42'));
    expect(notes).to.equal('');
  });

  it('is noted as not verified if the text names only file and line', async () => {
    for (const text of [
      'f.c:5',
      'In `f.c` line 5:',
      'line 5 of f.c',
      `${link('main')}#L5`,
      `${link('HEAD')}#L5`,
      'It returns a wrong number.\nPlease change `f.c:5` to this:',
      '- **In `f.c` line 5** I would write:',
      'Use this in f.c:5. It is wrong. For `f.c:5` I suggest the following:',
      '<b>File f.c, line 5</b>',
    ]) {
      const { f, notes } = await change(text + block());
      expect(f).to.equal(now.replace('return 1', 'return 42'));
      expect(notes).to.match(/f\.c: line 5 replaced as the text says; .* not verified/);
    }
  });

  const refused: readonly [string, string, RegExp][] = [
    [
      'of a commit that does not exist',
      `${link('0123456789')}#L3`,
      /f\.c: the repository has no commit 0123456789/,
    ],
    ['whose lines changed since the commit', `${link(before!)}#L8`, /line 8 of commit \w+ changed since/],
    ['of which one line changed', `${link(before!)}#L7-L8`, /lines 7 to 8 of commit \w+ changed since/],
    [
      'of another branch',
      `${link('feature/x')}#L3`,
      /feature\/x\/f\.c names neither a commit nor the branch main/,
    ],
    [
      'of another repository',
      `${link('main', 'github.com/o/r/blob')}#L3`,
      /another repository than demo\/hello: github/,
    ],
    ['that a commit does not have', `${link(before!).replace('f.c', 'a/f.c')}#L3`, /not a text file/],
    ['among two', 'Unlike a.js:3, please change b.js:5 to this:', /several places: a\.js:3, b\.js:5/],
    ['among two in words', 'Unlike a.js:3, please change line 5 of b.js', /several places: a\.js:3, b\.js:5/],
    ['among two in lines', 'see a.js:3\nnot b.js line 5', /several places: a\.js:3, b\.js:5/],
    ['among two lines of a file', 'in b.js lines 3 and 5', /several places: b\.js lines 3 and 5/],
    ['among a link and another', `a.js:3 as in ${link(before!)}#L3`, /several places: f\.c:3, a\.js:3/],
    ['in another paragraph', 'The trace says a.js:2.\n\nIn the helper use:', /which file and lines/],
    [
      'that a trace names',
      'The trace says a.js:2. In the helper use:',
      /a\.js:2 and also says "trace", "says"/,
    ],
    ['that a trace names in one sentence', 'The trace says a.js:2, so use:', /also says "trace", "says"/],
    ['before other words', 'In a.js:2 it throws. In the helper use:', /also says "throws", "helper"/],
    ['to compare with', 'Write this like a.js:2:', /also says "like"/],
    ['that stay', 'Not a.js:2 but this:', /also says "Not", "but"/],
    ['on the next line of the trace', 'It crashes in\na.js:2', /also says "It", "crashes"/],
    ['beside another link', 'See https://ci.example/1 in a.js:2', /also says "https"/],
    ['in a very long paragraph', `${'word '.repeat(300)} a.js:2`, /more than 1000 characters/],
  ];
  for (const [what, text, words] of refused) {
    it(`is refused for lines ${what}`, async () => {
      const { proposal, ...texts } = await plan(text + block());
      expect(texts).to.deep.equal({ f: now, a: '1\n2\n3\n4\n', b: '1\n2\n3\n4\n5\n' });
      expect(proposal).to.have.property('body').that.matches(words);
    });
  }
});
