import { expect } from 'chai';
import { planningInput } from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { createPatchPlanner } from './patch-planner.ts';

const lines = (...of: string[]) => `${of.join('\n')}\n`;

describe('the order of several commits in one text', () => {
  const fork = makeRepository({ a: lines('1', '2', '3', '4', '5', '6'), b: 'b\n' });
  const base = fork.git('rev-parse', 'HEAD');
  fork.commit({ a: lines('1', 'x', '2', '3', '4', '5', '6') });
  fork.commit({ a: lines('1', 'x', '2', '3', '4', 'y', '5', '6'), b: 'b\nc\n' });
  fork.commit({ a: null, c: lines('1', 'x', '2', '3', '4', 'y', '5', '6', '7') });
  const tip = fork.git('rev-parse', 'HEAD');
  const tree = fork.git('rev-parse', 'HEAD^{tree}');
  fork.git('reset', '-q', '--hard', base);
  const log = (...args: string[]) => `${fork.git('log', '-p', '--no-color', ...args, `${base}..${tip}`)}\n`;
  const fenced = (text: string) => `\`\`\`diff\n${text}\`\`\`\n`;

  async function plan(body: string) {
    const input = await planningInput(fork, { body });
    const proposal = await createPatchPlanner().propose(input);
    return proposal.kind === 'comment' ? proposal.body : (await input.scratch.diff()).tree;
  }

  for (const width of ['-U0', '-U1', '-U3']) {
    it(`is that of the commits, newest or oldest first, with ${width}`, async () => {
      expect(await plan(fenced(log(width, '--reverse')))).to.equal(tree);
      expect(await plan(fenced(log(width)))).to.equal(tree);
      expect(await plan(fenced(log(width, '--format=fuller')))).to.equal(tree);
      const commits = log(width).split(/^(?=commit )/m);
      expect(commits).to.have.length(3);
      expect(await plan(commits.map(fenced).join('\nand before that\n\n'))).to.equal(tree);
    });
  }

  it('is refused by name where the text does not show where a commit begins', async () => {
    for (const format of ['--format=', '--oneline']) {
      expect(await plan(fenced(log('-U0', format, '--reverse')))).to.equal(tree);
      expect(await plan(fenced(log('-U0', format)))).to.match(
        /newest change of a first.*git log -p --reverse/s,
      );
    }
  });

  it('is refused by name if its commits are in no order', async () => {
    const [third, second, first] = log('-U0').split(/^(?=commit )/m);
    expect(await plan(fenced(second! + third! + first!))).to.match(/neither oldest nor newest first/);
  });

  it('is that of the dates where no index line tells it, and refused where they do not either', async () => {
    const bare = (text: string) => text.replaceAll(/^index .*\n/gm, '');
    const dated = (text: string, days: readonly number[]) => {
      const left = [...days];
      return text.replaceAll(/^Date: .*$/gm, () => `Date:   Sun Mar ${left.shift()} 10:00:00 2026 +0000`);
    };
    const inOrder = bare(log('-U3', '--reverse'));
    expect(await plan(fenced(dated(inOrder, [1, 8, 15])))).to.equal(tree);
    for (const text of [dated(inOrder, [1, 1, 1]), dated(bare(log('-U3')), [15, 8, 1])]) {
      expect(await plan(fenced(text))).to.match(/does not say which commit comes first.*--reverse/s);
    }
  });

  it('is kept if a later commit takes an earlier one back', async () => {
    const again = makeRepository({ a: '1\n', b: 'b\n' });
    again.commit({ a: '2\n' });
    again.commit({ a: '3\n', b: 'c\n' });
    again.commit({ a: '1\n' });
    const wanted = again.git('rev-parse', 'HEAD^{tree}');
    const texts = [[], ['--reverse']].map((args) => again.git('log', '-p', ...args, 'HEAD~3..HEAD'));
    again.git('reset', '-q', '--hard', 'HEAD~3');
    for (const text of texts) {
      const input = await planningInput(again, { body: fenced(`${text}\n`) });
      const proposal = await createPatchPlanner().propose(input);
      expect(proposal.kind, proposal.kind === 'comment' ? proposal.body : '').to.equal('change');
      expect((await input.scratch.diff()).tree).to.equal(wanted);
    }
  });
});
