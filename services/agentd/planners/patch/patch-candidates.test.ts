import { expect } from 'chai';
import {
  type IssueText,
  planningInput,
  scratchText,
} from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { createPatchPlanner } from './patch-planner.ts';

const steps = Array.from({ length: 12 }, (_, index) => `step ${index + 1}\n`).join('');
const diff = (from: string, to: string, line: number) =>
  `--- a/steps.txt\n+++ b/steps.txt\n@@ -${line} +${line} @@\n-${from}\n+${to}\n`;
const fenced = (text: string) => `\`\`\`diff\n${text}\`\`\`\n`;
const mail = (tag: string, text: string) => `Subject: [${tag}] a change\n\n${fenced(text)}`;

describe('the patches of an issue', () => {
  const source = makeRepository({ 'steps.txt': steps, 'notes.md': '# Notes\n' });
  const notesId = source.git('rev-parse', 'HEAD:notes.md');

  async function plan(text: IssueText) {
    const input = await planningInput(source, text);
    const proposal = await createPatchPlanner().propose(input);
    return {
      proposal,
      steps: await scratchText(input.scratch, 'steps.txt'),
      diff: await input.scratch.diff(),
    };
  }

  async function change(text: IssueText) {
    const { proposal, ...rest } = await plan(text);
    if (proposal.kind === 'comment') throw new Error(proposal.body);
    return { ...proposal, ...rest };
  }

  async function comment(text: IssueText): Promise<string> {
    const { proposal, diff: made } = await plan(text);
    if (proposal.kind === 'change') throw new Error(proposal.explanation);
    expect(made.patch).to.have.length(0);
    return proposal.body;
  }

  describe('that are already applied', () => {
    const already: readonly [string, string][] = [
      ['a change', fenced(diff('old step 3', 'step 3', 3))],
      [
        'a change further down',
        fenced('--- a/steps.txt\n+++ b/steps.txt\n@@ -7,3 +7,3 @@\n step 2\n-old step 3\n+step 3\n step 4\n'),
      ],
      [
        'an insertion without context beside a change',
        fenced(`${diff('old step 3', 'step 3', 3)}@@ -4,0 +5 @@\n+step 5\n`),
      ],
      [
        'an insertion without context in another file than a change',
        fenced(`${diff('old', 'step 2', 2)}--- a/notes.md\n+++ b/notes.md\n@@ -0,0 +1 @@\n+# Notes\n`),
      ],
      [
        'an insertion without context at a line that the file does not have',
        fenced('--- a/steps.txt\n+++ b/steps.txt\n@@ -14,0 +12 @@\n+step 12\n'),
      ],
      [
        'an insertion without context into a file that the patch names as its result',
        fenced(
          `diff --git a/notes.md b/notes.md\nindex 1234567..${notesId} 100644\n--- a/notes.md\n+++ b/notes.md\n@@ -0,0 +1 @@\n+# Notes\n`,
        ),
      ],
      ['a new file', fenced('--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1 @@\n+# Notes\n')],
      ['a deleted file', fenced('--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n')],
      [
        'a deletion',
        fenced('--- a/steps.txt\n+++ b/steps.txt\n@@ -3,3 +3,2 @@\n step 3\n-step 3.5\n step 4\n'),
      ],
      [
        'two files',
        fenced(`${diff('old', 'step 2', 2)}--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1 @@\n+# Notes\n`),
      ],
    ];
    for (const [what, body] of already) {
      it(`are reported as applied: ${what}`, async () => {
        expect(await comment({ body })).to.match(/is already applied on `main`: .*nothing left to change/);
      });
    }

    it('are not taken for applied because of their context alone', async () => {
      const one = '--- a/steps.txt\n+++ b/steps.txt\n@@ -3,2 +3,1 @@\n-step 2.5\n step 3\n';
      expect(await comment({ body: fenced(one) })).to.match(
        /steps\.txt, line 3: the lines of the hunk are not there/,
      );
    });

    it('are applied at the only place of the old lines, with a note that the file may be as they make it', async () => {
      const { steps: after, notices } = await change({ body: fenced(diff('step 9', 'step 3', 3)) });
      expect(after).to.equal(steps.replace('step 9', 'step 3'));
      expect(notices!.join('\n')).to.match(
        /says line 3; applied at line 9, the only place .* line 3 is already as the patch makes it/,
      );
    });

    it('are refused if one file is as they make it and another is not', async () => {
      const other = '--- a/notes.md\n+++ b/notes.md\n@@ -0,0 +1 @@\n+# News\n';
      expect(await comment({ body: fenced(diff('old', 'step 2', 2) + other) })).to.match(
        /steps\.txt: this part is already applied/,
      );
    });

    it('are not taken for applied because of one line in another place', async () => {
      const body = fenced(diff('old step 3', 'step 3', 7));
      expect(await comment({ body })).to.match(/steps\.txt, line 7: the lines of the hunk are not there/);
    });

    it('are not taken for applied because of lines in another place that show nothing around them', async () => {
      for (const lines of ['-go\n+step 2\n+step 3\n', '-go\n+step 2\n step 3\n', ' step 2\n-go\n+step 3\n']) {
        const [old, now] = [/^[- ]/gm, /^[+ ]/gm].map((sign) => lines.match(sign)!.length);
        const body = fenced(`--- a/steps.txt\n+++ b/steps.txt\n@@ -9,${old} +9,${now} @@\n${lines}`);
        expect(await comment({ body })).to.match(/steps\.txt, line 9: the lines of the hunk are not there/);
      }
    });

    it('are not taken for applied if a new file has another mode or another end', async () => {
      const create = (mode: string, end = '') =>
        fenced(
          `diff --git a/notes.md b/notes.md\nnew file mode ${mode}\n--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1 @@\n+# Notes\n${end}`,
        );
      expect(await comment({ body: create('100644') })).to.match(/is already applied/);
      for (const mode of ['100755', '120000']) {
        const words = new RegExp(`notes\\.md: .* same content and mode 100644, not ${mode}`);
        expect(await comment({ body: create(mode) })).to.match(words);
      }
      const open = create('100644', '\\ No newline at end of file\n');
      expect(await comment({ body: open })).to.match(/notes\.md: .*already has it/);
    });

    it('are refused if only a part is applied, which is named', async () => {
      const body = fenced(`${diff('old', 'step 2', 2)}${'@@ -5 +5 @@\n-step 5\n+five\n'}`);
      expect(await comment({ body })).to.match(/steps\.txt, line 2: this hunk is already applied/);
      const other = '--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-# Notes\n+# News\n';
      expect(await comment({ body: fenced(diff('old', 'step 2', 2) + other) })).to.match(
        /steps\.txt: this part is already applied/,
      );
    });
  });

  describe('in several texts', () => {
    it('are all tried: the newest that applies wins, and the others are named with what they do', async () => {
      const { steps: after, explanation } = await change({
        body: fenced(diff('step 1', 'one', 1)),
        comments: [
          { body: fenced(diff('step 2', 'two', 2)), by: 'ada' },
          { body: fenced(diff('step 2', 'two', 2)), by: 'otto' },
          { body: fenced(diff('missing', 'x', 2)), by: 'mira' },
          { body: fenced(diff('older', 'step 4', 4)), by: 'ada' },
        ],
      });
      expect(after).to.equal(steps.replace('step 2', 'two'));
      expect(explanation).to.match(/Applies the patch from comment 2 by otto/);
      expect(explanation).to.match(/Not used: the patch from comment 4 by ada\. It is already applied/);
      expect(explanation).to.match(/Not used: the patch from comment 3 by mira\. .*line 2: the lines/);
      expect(explanation).to.match(/The patch from comment 1 by ada makes the same change/);
      expect(explanation).to.match(/Not used: one more text with patches/);
    });

    it('are alternatives if they apply too', async () => {
      const { explanation } = await change({
        body: fenced(diff('step 1', 'one', 1)),
        comments: [{ body: fenced(diff('step 2', 'two', 2)) }],
      });
      expect(explanation).to.match(
        /Alternative: the patch from the issue’s text applies too, with another result/,
      );
    });

    it('are tried up to a bound, and the plan names how many were not', async () => {
      const broken = Array.from({ length: 25 }, () => ({ body: fenced(diff('missing', 'x', 2)) }));
      const body = await comment({ body: fenced(diff('step 1', 'one', 1)), comments: broken });
      expect(body).to.include('Not tried: 6 more texts with patches');
      const { explanation } = await change({
        body: '',
        comments: [...broken, { body: fenced(diff('step 1', 'one', 1)) }],
      });
      expect(explanation).to.match(
        /Not used: 16 more texts with patches that were tried\.\n\nNot tried: 6 more texts/,
      );
    });

    it('are alternatives if the blocks of one text apply alone and not together', async () => {
      const body = `Either\n\n${fenced(diff('step 1', 'one', 1))}\nor\n\n${fenced(diff('step 1', 'first', 1))}`;
      expect(await comment({ body })).to.match(/its blocks are alternatives \(lines 4, 14\)/);
    });
  });

  describe('by an outsider beside one of the author', () => {
    const by = (login: string, body: string, association: 'none' | 'contributor' | 'member' = 'none') => ({
      ...{ body, by: login, association },
    });
    const [theirs, evil] = [fenced(diff('step 3', 'third', 3)), fenced(diff('step 3', 'evil', 3))];
    const unusable = fenced(diff('another line', 'third', 3));

    for (const association of ['none', 'contributor', 'owner'] as const)
      it(`do not replace it, also where the author of the issue is ${association}, and the plan names both`, async () => {
        const made = await change({ body: theirs, by: 'mira', association, comments: [by('eve', evil)] });
        expect(made.steps).to.contain('third').and.not.contain('evil');
        expect(made.notices!.join()).to.contain('mira').and.contain('by eve').and.contain('does not replace');
        expect(made.displaces).to.equal(null);
        expect(made.patch_by).to.deep.include({ login: 'mira', association });
      });

    it('replace it only where it cannot be used, which the plan and the risk say', async () => {
      const made = await change({
        body: unusable,
        by: 'mira',
        association: 'none',
        comments: [by('eve', evil, 'contributor')],
      });
      expect(made.steps).to.contain('evil');
      expect(made.displaces).to.contain('eve').and.contain('mira').and.contain('cannot be used');
      expect(made.notices).to.include(made.displaces);
    });

    it('are not mentioned where nobody else proposed one', async () => {
      const made = await change({ body: 'Please fix.', by: 'mira', comments: [by('eve', evil)] });
      expect([made.displaces, made.notices]).to.deep.equal([null, []]);
      expect(made.patch_by).to.deep.equal({
        kind: 'person',
        login: 'eve',
        association: 'none',
        trusted: false,
        quoted: false,
        repaired: false,
        places: [{ kind: 'comment', id: '1', at: '2026-03-01T11:00:00Z' }],
      });
    });

    it('give way to a later one of an author with write access', async () => {
      const made = await change({
        body: theirs,
        by: 'mira',
        association: 'none',
        comments: [by('otto', fenced(diff('step 3', 'drei', 3)), 'member')],
      });
      expect(made.steps).to.contain('drei');
    });
  });

  describe('of a mail series', () => {
    const parts = [diff('step 1', 'one', 1), diff('one', 'uno', 1), diff('step 3', 'three', 3)];
    const after = steps.replace('step 1', 'uno').replace('step 3', 'three');

    it('are applied in order over several comments, with all their texts as influences', async () => {
      const {
        steps: got,
        explanation,
        influences,
      } = await change({
        body: 'Please see the patches.',
        comments: [
          { body: 'Subject: [PATCH 0/3] a change\n\nCover letter', by: 'ada' },
          { body: mail('PATCH 2/3', parts[1]!), by: 'ada' },
          { body: mail('PATCH 1/3', parts[0]!), by: 'ada' },
          { body: 'looks good', by: 'otto' },
          { body: mail('PATCH 3/3', parts[2]!), by: 'ada' },
        ],
      });
      expect(got).to.equal(after);
      expect(explanation).to.match(
        /series of patches from comment 2 by ada, comment 3 by ada and comment 5 by ada/,
      );
      expect(influences.map(({ source: from }) => from)).to.include.members([
        'comment 2 by ada',
        'comment 3 by ada',
        'comment 5 by ada',
      ]);
    });

    it('are applied in order in one text, in whatever order they are given', async () => {
      const body = [2, 0, 1].map((index) => mail(`PATCH v2 ${index + 1}/3`, parts[index]!)).join('\n');
      expect((await change({ body })).steps).to.equal(after);
    });

    it('are refused if one is missing, which is named', async () => {
      const comments = [0, 2].map((index) => ({
        body: mail(`PATCH ${index + 1}/3`, parts[index]!),
        by: 'ada',
      }));
      expect(await comment({ body: '', comments })).to.match(
        /series of 3 patches, and part 2 of 3 is missing/,
      );
      const stranger = { body: mail('PATCH 2/3', parts[1]!), by: 'eve' };
      const mixed = await comment({ body: '', comments: [...comments, stranger] });
      expect(mixed)
        .to.match(/part 2 of 3 is missing/)
        .and.match(/parts 1, 3 of 3 are missing/);
    });

    it('are taken from the newest version', async () => {
      const first = [0, 1, 2].map((index) => ({
        body: mail(`PATCH ${index + 1}/3`, parts[index]!),
        by: 'ada',
      }));
      const second = [diff('step 5', 'five', 5), diff('five', 'cinque', 5)].map((text, index) => ({
        body: mail(`PATCH v2 ${index + 1}/2`, text),
        by: 'ada',
      }));
      const { steps: got, explanation } = await change({ body: '', comments: [...first, ...second] });
      expect(got).to.equal(steps.replace('step 5', 'cinque'));
      expect(explanation).to.match(/Alternative: .*comment 1 by ada, comment 2 by ada and comment 3 by ada/);
    });
  });
});
