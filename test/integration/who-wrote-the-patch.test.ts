import { expect } from 'chai';
import { type PatchAuthor, patchAuthorText } from '#kit/contracts/patch-author.ts';
import type { RunDetail } from '#kit/contracts/run.ts';
import { actionsView } from '../../services/agentd/cli/views/actions-view.ts';
import { diffView } from '../../services/agentd/cli/views/diff-view.ts';
import { planView } from '../../services/agentd/cli/views/plan-view.ts';
import { runView } from '../../services/agentd/cli/views/run-view.ts';
import { runView as runJson } from '../../services/agentd/http/run-view.ts';
import { runReport } from '../../services/agentd/mcp/run-report.ts';
import type { JudgedRun } from '../../services/agentd/runs/run.ts';
import { summaryText } from '../../services/agentd/runs/views/views.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { sampleRun } from '../fixtures/runs/sample-run.ts';
import { sampleTerminal } from '../fixtures/runs/sample-terminal.ts';
import { openedSample, sampleDetail } from '../fixtures/terminal/sample.ts';
import { everybody, greetPatch, quiet, ref } from '../fixtures/world/world.ts';

const standing = { association: 'none', trusted: false, quoted: false, repaired: false };
const places = [{ kind: 'comment' as const, id: '3', at: '2026-11-28T10:00:00Z' }];
const authors: Readonly<Record<string, PatchAuthor>> = {
  'the patch planner': { kind: 'person', login: 'eve', ...standing, places },
  'the model planner': { kind: 'model', model: 'large-4' },
  'an agent': { kind: 'agent', agent: 'claude', protocol: 'acp', model: 'large-4' },
  'a command': { kind: 'agent', agent: 'fix', protocol: 'command', model: null },
};

const suggestions = { program: './core', home: undefined };
const views: Readonly<Record<string, (run: JudgedRun) => string>> = {
  plan: (run) => planView(run, sampleTerminal(), suggestions, 7),
  show: (run) => runView(run, sampleTerminal(), suggestions),
  actions: (run) => actionsView(run, sampleTerminal(), suggestions),
  diff: (run) => diffView(run, new Uint8Array(), { ...sampleTerminal(), outIsTerminal: true }, suggestions),
  'show_run of MCP': (run) => JSON.stringify(runReport(runJson(run) as RunDetail)),
  'the summary of the run': summaryText,
  'the gate of the terminal interface': (run) => {
    const detail = sampleDetail((one) => Object.assign(one, { plan: run.plan }));
    return openedSample(undefined, detail).keys('A').screen();
  },
  'the patch in the terminal interface': (run) => {
    const detail = sampleDetail((one) => Object.assign(one, { plan: run.plan }));
    return openedSample(undefined, detail).keys('g', 'down', 'enter').screen();
  },
};

describe('Who wrote the patch', () => {
  for (const [planner, patch_by] of Object.entries(authors))
    for (const [view, shown] of Object.entries(views))
      it(`stands in ${view} for a plan of ${planner}`, () => {
        const run = sampleRun();
        const text = shown({ ...run, plan: { ...run.plan!, patch_by } });
        expect(text).to.contain(patchAuthorText({ patch: 'digest', patch_by }));
      });

  describe('for the patch of an outsider in a comment', () => {
    let review: ReviewWorld;
    let run: JudgedRun;
    const expected = /patch by eve \(no write access\), comment \S+ of \d{4}-\d\d-\d\d/;

    before(async function () {
      this.timeout(120_000);
      review = await makeReviewWorld();
      const { world } = review;
      const number = await world.newIssue('Strangers are not greeted.');
      const body = `\`\`\`diff\n${greetPatch}\`\`\`\n`;
      await world.forgeAdmin.comment({ ...ref, number, body, author: 'eve', association: 'none' });
      run = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    });
    after(() => review?.close());

    it('is sealed with the plan, and is not the author of the issue', () => {
      expect(run.issue).to.include({ author: 'mira', association: 'contributor' });
      expect(run.plan!.patch_by).to.deep.include({ kind: 'person', login: 'eve', trusted: false });
      expect(patchAuthorText(run.plan)).to.match(expected);
    });

    it('stands in the text of the pull request', () => {
      const { params } = run.actions.find(({ definition: { kind } }) => kind === 'open_pull_request')!
        .definition as { params: { body: string } } & JudgedRun['actions'][number]['definition'];
      expect(params.body).to.match(/^Patch by `eve \(no write access\), comment \S+ of \S+`$/m);
    });

    it('stands in what waits for a person', async () => {
      const { items } = await review.world.agent.inbox({ person: null, now: new Date() });
      expect(items[0]!.text).to.match(expected);
    });

    it('stands on the review page, beside the author of the issue', async () => {
      const answer = await (await SignedIn.by(await review.link('mira'))).get(`/runs/${run.run_id}`);
      const page = await answer.text();
      expect(page).to.match(expected).and.to.contain('issue by mira (contributor)');
    });

    it('is printed by the commands that show and approve it', async () => {
      for (const command of [['show'], ['actions'], ['approve'], ['approve', '--gate', 'build']]) {
        const [name, ...options] = command;
        const { stdout, stderr } = await review.world.command([name!, run.run_id, ...options]);
        expect(stdout + stderr, command.join(' ')).to.match(expected);
      }
    });
  });
});
