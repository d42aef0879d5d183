import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Run } from '../../services/agentd/runs/run.ts';
import { hostileMarkdown } from '../fixtures/review/hostile-markdown.ts';
import { reviewInBrowsers } from '../fixtures/review/people-in-browsers.ts';
import { until } from '../fixtures/until.ts';
import { everybody, ref } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(['chromium'], 'The review page in a browser', function () {
  this.timeout(180_000);
  const at = reviewInBrowsers();

  const open = (page: Page, run: Run, part = '') => page.goto(`${at.review.url}/runs/${run.run_id}${part}`);
  const current = (run: Run) => at.review.world.agent.run(run.run_id);

  async function approveGate(page: Page, gate: string): Promise<void> {
    const form = page.locator(`#gate-${gate}`);
    const word = form.getByLabel(/type approve/);
    if ((await word.count()) > 0) await word.fill('approve');
    await form.getByRole('button').click();
    await form.waitFor({ state: 'detached' });
  }

  it('takes a run from its gates to a pull request, and shows each step as it happens', async () => {
    const run = await at.review.planned();
    const { page } = await at.browsers.person('mira');
    await page.locator(`[data-run][href="/runs/${run.run_id}"]`).click();
    await page.getByText('7 actions wait for a decision.').waitFor();
    await approveGate(page, 'build');
    // The next gate comes into view.
    expect(new URL(page.url()).hash).to.equal('#gate-build-end');
    const next = page.locator('.controls .next');
    await page.getByRole('button', { name: 'Execute', exact: true }).click();
    await page.waitForURL(/#act_3_/);
    await next.getByText('The validation passed. 3 actions wait for a decision.').waitFor({
      timeout: 60_000,
    });
    await next.getByRole('link', { name: '3 actions' }).click();
    await page.waitForURL(/#act_5_/);
    await approveGate(page, 'publish');
    await page.getByRole('button', { name: 'Execute', exact: true }).click();
    await next.getByText(/Done: pull request #\d+ is open\./).waitFor({ timeout: 60_000 });
    const opened = page.locator('[id^="act_6_"][data-action]');
    await opened.getByText('body, as it was sent').waitFor();
    expect(await opened.locator('pre').textContent())
      .to.contain('Validation: ')
      .and.to.not.contain('{{');
    await page.locator('#gate-publish-title').waitFor();
    const pulls = await at.review.world.forgeAdmin.listPullRequests(ref, 'open');
    expect(pulls.length).to.be.greaterThan(0);
    await page.getByRole('link', { name: 'Undo…' }).click();
    await page.getByRole('button', { name: 'Take it back' }).click();
    await page.getByText('The run was undone.').waitFor({ timeout: 60_000 });
  });

  it('rejects with a reason, and takes it back only from who asks for it', async () => {
    const run = await at.review.planned();
    const { page } = await at.browsers.person('mira');
    await open(page, run);
    const action = page.locator('[data-action]').first();
    await action.getByText('Reject', { exact: false }).first().click();
    await action.getByLabel(/Why/).fill('Use the helper.');
    await action.getByRole('button', { name: /Reject 1/ }).click();
    await page.getByText('Use the helper.').waitFor();
    const [first] = (await current(run)).actions;
    expect([first!.approval, first!.decision?.reason, first!.decision?.approver]).to.deep.equal([
      'rejected',
      'Use the helper.',
      'mira',
    ]);
    expect(await action.getByRole('button', { name: /Approve/ }).isVisible()).to.equal(false);
    // What builds on it says so, and is not offered for approval.
    const above = page.locator('[data-action]').nth(1);
    await above.getByText('It builds on 1 create_branch, which was rejected').waitFor();
    expect(await page.getByRole('button', { name: /^Approve/ }).count()).to.equal(0);
    await action.getByText('Change the decision').click();
    await action.getByRole('button', { name: /Approve/ }).click();
    await action.getByText('approved by').waitFor();
    expect((await current(run)).actions[0]!.approval).to.equal('approved');
  });

  it('shows two people each other’s decisions at once, and keeps what one is writing', async () => {
    const run = await at.review.planned();
    const [mira, yuki] = [await at.browsers.person('mira'), await at.browsers.person('yuki')];
    await Promise.all([open(mira.page, run), open(yuki.page, run)]);
    const [second] = [mira.page.locator('[data-action]').nth(2)];
    await second!.getByText('Reject', { exact: false }).first().click();
    await second!.getByLabel(/Why/).fill('half a sent');
    await yuki.page
      .locator('[data-action]')
      .first()
      .getByRole('button', { name: /Approve/ })
      .click();
    await mira.page.locator('[data-action]').first().getByText('approved by yuki').waitFor();
    expect(await second!.getByLabel(/Why/).inputValue()).to.equal('half a sent');
    expect(await second!.getByLabel(/Why/).isVisible()).to.equal(true);
    // The button that was there is gone, so that a click that was on its way decides nothing.
    expect(await mira.page.locator('[data-action]').first().getByRole('button').count()).to.equal(0);
  });

  it('refuses what a tab without a connection still shows', async () => {
    const run = await at.review.planned();
    const { page, context, problems } = await at.browsers.person('mira');
    const other = await context.newPage();
    at.browsers.watch(other, problems);
    await other.route('**/live?*', (route) => route.abort());
    await Promise.all([open(page, run), open(other, run)]);
    const first = page.locator('[data-action]').first();
    await first.getByText('Reject', { exact: false }).first().click();
    await first.getByLabel(/Why/).fill('No.');
    await first.getByRole('button', { name: /Reject 1/ }).click();
    await page.getByText('rejected by').waitFor();
    await other.getByText('not live').waitFor();
    await other
      .locator('[data-action]')
      .first()
      .getByRole('button', { name: /^Approve/ })
      .click();
    await other.getByRole('alert').getByText('the run has changed').waitFor();
    expect((await current(run)).actions[0]!.approval).to.equal('rejected');
  });

  it('says what to do when a link was used, and when nobody is signed in', async () => {
    const { page } = await at.browsers.person('mira');
    const link = await at.review.link('mira');
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in as mira' }).click();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.goto(link);
    await page.getByText('this link was used already').waitFor();
    await page.getByText('./core review makes a new one').waitFor();
    await page.goto(at.review.url);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(at.review.url);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('runs, loads and imitates nothing that an issue tries', async () => {
    const { page } = await at.browsers.person('mira');
    const texts = hostileMarkdown.map((text) => text.slice(0, 2_000)).join('\n\n---\n\n');
    const run = await at.review.planned(texts, 'Hostile <script>window.hit = 1</script> title \u202e');
    for (const part of ['', '/issue', '/timeline', '/graph']) {
      await open(page, run, part);
      expect(await page.evaluate(() => (globalThis as { hit?: number }).hit), part).to.equal(undefined);
      expect(
        await page
          .locator(
            'main script, main iframe, main img, main object, main style, main [onerror], main [onload]',
          )
          .count(),
        part,
      ).to.equal(0);
    }
    const forms = await page.locator('main form').count();
    await open(page, run, '/issue');
    expect([forms, await page.locator('.post form, .post button, .post input').count()]).to.deep.equal([
      0, 0,
    ]);
    for (const href of await page
      .locator('.post a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href'))))
      expect(href).to.match(/^(https?|mailto):/);
  });

  it('can be used without a mouse, by the keys of the terminal interface', async () => {
    const run = await at.review.planned('By keys.', 'For the keyboard');
    const { page } = await at.browsers.person('mira');
    const keys = async (...names: string[]) => {
      for (const name of names) await page.keyboard.press(name);
    };
    await page.goto(at.review.url);
    await keys('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await keys('Escape', '/');
    await page.keyboard.type('keyboard');
    await keys('Enter');
    await page.waitForURL(/text=keyboard/);
    await keys('j', 'Enter');
    await page.waitForURL(new RegExp(run.run_id));
    await keys('j', 'a');
    await until('the button to have the focus', () =>
      page.evaluate("document.activeElement.textContent.startsWith('Approve')"),
    );
    expect((await current(run)).actions[0]!.approval).to.equal('required');
    await keys('a');
    await page.locator('[data-action]').first().getByText('approved by').waitFor();
    await keys('j', 'j', 'r');
    await page.keyboard.type('By key.');
    await keys('Tab', 'Enter');
    await page.getByText('By key.').first().waitFor();
    const decided = (await current(run)).actions.filter(({ decision }) => decision !== null);
    expect(decided.map(({ approval }) => approval).toSorted()).to.deep.equal(['approved', 'rejected']);
    await keys('4');
    await page.getByText('The record holds').waitFor();
    await keys('1');
    await page.getByRole('heading', { name: /Gate build/ }).waitFor();
    await keys('c');
    await page.keyboard.type('enough');
    await keys('Tab', 'Enter');
    await page.getByText('The run was cancelled.').waitFor();
    await keys('q');
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
  });

  it('counts in the header what waits, and follows it', async () => {
    const run = await at.review.planned('To be counted.');
    const { page } = await at.browsers.person('mira');
    await page.goto(`${at.review.url}/inbox`);
    const row = page.locator(`a[href="/runs/${run.run_id}"]`);
    await row.waitFor();
    const shown = async () => Number(await page.locator('#inbox-count').textContent());
    await until('the count to be there', async () => (await shown()) > 0);
    const before = await shown();
    await at.review.world.agent.cancel({ run_id: run.run_id, by: everybody, reason: null });
    await row.waitFor({ state: 'detached' });
    await until('the count to be less', async () => (await shown()) === before - 1);
  });

  it('works without scripts', async () => {
    const run = await at.review.planned('Without scripts.');
    const { page } = await at.browsers.person('mira', { javaScriptEnabled: false });
    await open(page, run);
    await approveGate(page, 'publish');
    const publish = (await current(run)).actions.filter(({ definition }) => definition.gate === 'publish');
    expect(publish.every(({ approval }) => approval === 'approved')).to.equal(true);
  });
});
