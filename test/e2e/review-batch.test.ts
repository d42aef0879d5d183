import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Run } from '../../services/agentd/runs/run.ts';
import { axeFindings, pageWidth, reviewInBrowsers } from '../fixtures/review/people-in-browsers.ts';
import { everyScope } from '../fixtures/review/review-world.ts';
import { describeWith } from '../needs.ts';

const mira = { name: 'mira', scopes: everyScope };

describeWith(['chromium'], 'The list of runs on the review page', function () {
  this.timeout(180_000);
  const at = reviewInBrowsers();

  const current = (run: Run) => at.review.world.agent.run(run.run_id);
  const approvals = async (run: Run, gate: string) =>
    (await current(run)).actions
      .filter(({ definition }) => definition.gate === gate)
      .map(({ approval }) => approval);
  const select = (page: Page, run: Run) => page.locator(`#choose-${run.run_id}`).check();
  const look = (page: Page) => page.getByRole('button', { name: 'Decide about the selected runs' }).click();
  const publish = (page: Page) => page.locator('.gate').filter({ has: page.locator('#gate-publish-title') });

  it('approves the same gate of several runs, each action with its risk before', async () => {
    const [one, other] = [
      await at.review.planned('One.', 'First of two'),
      await at.review.planned('Two.', 'Second'),
    ];
    const { page } = await at.browsers.person('mira');
    await select(page, one);
    await select(page, other);
    await look(page);
    for (const run of [one, other]) {
      const article = publish(page).locator('.action').filter({ hasText: run.issue!.title });
      for (const { definition } of run.actions.filter(({ definition }) => definition.gate === 'publish')) {
        const row = article.locator('li').filter({ hasText: definition.digest.slice(0, 12) });
        await row.getByText(`${definition.risk} ${definition.risk_score}`).first().waitFor();
      }
    }
    // The validation of this gate is critical: it is shown, and not in the batch.
    const build = page.locator('.gate').filter({ has: page.locator('#gate-build-title') });
    expect(await build.getByText('critical: decide it on the page of the run').count()).to.equal(2);
    await publish(page).getByRole('button', { name: 'Approve 6 actions of gate publish' }).click();
    await page.getByText('Recorded in 2 runs.').waitFor();
    for (const run of [one, other])
      expect(await approvals(run, 'publish')).to.deep.equal(['approved', 'approved', 'approved']);
    expect(await approvals(one, 'build')).to.deep.equal(Array(4).fill('required'));
  });

  it('records nothing of what is stale, says which, and decides the rest', async () => {
    const [stale, fresh] = [
      await at.review.planned('A.', 'Stale one'),
      await at.review.planned('B.', 'Fresh one'),
    ];
    const { page } = await at.browsers.person('mira');
    await select(page, stale);
    await select(page, fresh);
    await look(page);
    const { actions } = stale;
    const last = actions.at(-1)!.definition;
    await at.review.world.agent.decide({
      run_id: stale.run_id,
      decision: 'reject',
      actions: [{ action_id: last.action_id, digest: last.digest }],
      reason: 'Not this one.',
      claimed_approver: null,
      by: { ...mira, name: 'jo' },
    });
    await publish(page).getByRole('button', { name: 'Approve 6 actions' }).click();
    await page.getByRole('alert').getByText('Nothing was recorded in 1 of 2 runs').waitFor();
    const row = page.locator('.batch-results li').filter({ hasText: 'Stale one' });
    await row.getByText('refused').first().waitFor();
    expect(await approvals(stale, 'publish')).to.deep.equal(['required', 'required', 'rejected']);
    expect(new Set(await approvals(fresh, 'publish'))).to.deep.equal(new Set(['approved']));
  });

  it('rejects in one go, with a reason, by the keys too', async () => {
    const run = await at.review.planned('By keys.', 'Rejected by keys');
    const { page } = await at.browsers.person('mira');
    await page.goto(`${at.review.url}/?text=rejected+by+keys`);
    for (const key of ['j', 's', 'b', 'b']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'Several runs' }).waitFor();
    const reject = publish(page).locator('[data-reject]');
    await reject.locator('summary').press('Enter');
    await reject.getByLabel(/Why/).fill('Another way.');
    await reject.getByRole('button').press('Enter');
    await page.getByText('Recorded in one run.').waitFor();
    expect(new Set(await approvals(run, 'publish'))).to.deep.equal(new Set(['rejected']));
    expect((await current(run)).actions.at(-1)!.decision?.reason).to.equal('Another way.');
  });

  it('refuses critical actions in a batch, also of a form that was made by hand', async () => {
    const run = await at.review.planned('Critical.', 'With a critical one');
    const { page } = await at.browsers.person('mira');
    await select(page, run);
    await look(page);
    const { action_id, digest } = run.actions.find(
      ({ definition }) => definition.risk === 'critical',
    )!.definition;
    await publish(page)
      .locator('form[data-batch-approve] input[name="seen"]')
      .first()
      .evaluate(
        (input, value) => input.setAttribute('value', value),
        `${run.run_id} ${action_id} ${digest} required`,
      );
    await publish(page)
      .getByRole('button', { name: /^Approve/ })
      .click();
    await page.getByText('is of critical risk').first().waitFor();
    expect(new Set((await current(run)).actions.map(({ approval }) => approval))).to.deep.equal(
      new Set(['required']),
    );
  });

  it('keeps what is selected while others change runs', async () => {
    const [run, other] = [
      await at.review.planned('K.', 'Kept'),
      await at.review.planned('C.', 'Changed meanwhile'),
    ];
    const { page } = await at.browsers.person('mira');
    await select(page, run);
    await at.review.world.agent.cancel({ run_id: other.run_id, by: mira, reason: null });
    await page.locator(`#row-${other.run_id}`).getByText('cancelled').waitFor();
    expect(await page.locator(`#choose-${run.run_id}`).isChecked()).to.equal(true);
  });

  it('finds runs by who asked, who decided, and who must agree', async () => {
    at.review.policy({
      people: { kim: {}, lee: {} },
      approval: { rules: [{ name: 'both', gates: ['build', 'publish'], approvers: 2 }] },
    });
    const run = await at.review.planned('By kim.', 'Asked by kim', { ...mira, name: 'kim' });
    const [first] = run.actions;
    await at.review.world.agent.decide({
      run_id: run.run_id,
      decision: 'approve',
      actions: run.actions.map(({ definition: { action_id, digest } }) => ({ action_id, digest })),
      reason: null,
      claimed_approver: null,
      by: { ...mira, name: 'lee' },
    });
    expect(first!.approval).to.equal('required');
    const { page } = await at.browsers.person('mira');
    const found = async (person: string, did: string) => {
      await page.getByLabel('Person or token').fill(person);
      await page.getByLabel('What the person did').selectOption(did);
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.waitForURL(new RegExp(`person=${person}.*did=${did}`));
      return page.locator('.runs .run-title').allTextContents();
    };
    for (const [person, did, count] of [
      ['kim', 'asked', 1],
      ['KIM', 'asked', 1],
      ['lee', 'asked', 0],
      ['lee', 'decided', 1],
      ['kim', 'decided', 0],
      ['kim', 'must', 1],
      ['lee', 'must', 0],
    ] as const) {
      const titles = (await found(person, did)).filter((title) => title.includes('Asked by kim'));
      expect(titles, `${person} ${did}`).to.have.length(count);
    }
    at.review.policy({});
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no finding of axe-core and fits 390 pixels where several are decided, ${colorScheme}`, async () => {
      const run = await at.review.planned('Narrow.', `Narrow ${colorScheme}`);
      const narrow = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
      const { page } = await at.browsers.person('mira', { colorScheme, bypassCSP: true, ...narrow });
      expect(await axeFindings(page)).to.deep.equal([]);
      expect(await pageWidth(page)).to.equal(390);
      await select(page, run);
      await look(page);
      await page.getByRole('heading', { name: 'Several runs' }).waitFor();
      expect(await axeFindings(page)).to.deep.equal([]);
      expect(await pageWidth(page)).to.equal(390);
      await publish(page)
        .getByRole('button', { name: /^Approve/ })
        .click();
      await page.getByText('Recorded in one run.').waitFor();
      expect(await axeFindings(page)).to.deep.equal([]);
      expect(await pageWidth(page)).to.equal(390);
    });
  }
});
