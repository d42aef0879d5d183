import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { runView } from '../../services/agentd/http/run-view.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { reviewInBrowsers } from '../fixtures/review/people-in-browsers.ts';
import { everyScope } from '../fixtures/review/review-world.ts';
import { validated } from '../fixtures/world/place.ts';
import { helloFiles } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const people = { mira: { logins: ['mira-m'] }, jo: { logins: ['Jo'] }, kim: {} };
const mira = { name: 'mira', scopes: everyScope };

describeWith(['chromium'], 'Who must agree, on the review page', function () {
  this.timeout(180_000);
  const at = reviewInBrowsers({ ...helloFiles, ...validated, '.github/CODEOWNERS': '* @jo\n' });

  const open = (page: Page, run: Run) => page.goto(`${at.review.url}/runs/${run.run_id}`);
  const current = (run: Run) => at.review.world.agent.run(run.run_id);
  const approvals = async (run: Run, gate: string) =>
    (await current(run)).actions
      .filter(({ definition }) => definition.gate === gate)
      .map(({ approval }) => approval);
  const gateOf = (page: Page, gate: string) =>
    page.locator('.gate').filter({ has: page.locator(`#gate-${gate}-title`) });
  const approveGate = async (page: Page, gate: string) => {
    const form = page.locator(`#gate-${gate}`);
    const word = form.getByLabel(/type approve/);
    if ((await word.count()) > 0) await word.fill('approve');
    await form.getByRole('button').click();
  };

  it('takes two people to approve a rule that needs both, one of them a code owner', async () => {
    at.review.policy({
      people,
      approval: {
        rules: [{ name: 'both', gates: ['publish'], approvers: 2, code_owners: true, not_requester: true }],
      },
    });
    const run = await at.review.planned('Two people.', undefined, { ...mira, name: 'asker' });
    const [one, other] = [await at.browsers.person('kim'), await at.browsers.person('jo')];
    await Promise.all([open(one.page, run), open(other.page, run)]);
    const asked = '2 people, one a code owner, not asker';
    for (const { page } of [one, other]) {
      await gateOf(page, 'publish').getByText('0 of 2, no code owner yet (@jo)').first().waitFor();
      await gateOf(page, 'publish').getByText(`asked: ${asked}`).first().waitFor();
    }
    await approveGate(one.page, 'publish');
    // The other sees it at once, without doing anything.
    for (const { page } of [one, other]) {
      await gateOf(page, 'publish').getByText('waits, 1 of 2, no code owner yet').waitFor();
      await page.locator('.run-facts').getByText('agreed 1 of 2, no code owner yet').waitFor();
    }
    expect(new Set(await approvals(run, 'publish'))).to.deep.equal(new Set(['required']));
    // Who has agreed is offered nothing that would count for nothing.
    await gateOf(one.page, 'publish').getByText('You have approved it').first().waitFor();
    expect(await gateOf(one.page, 'publish').locator('[data-approve], [data-gate]').count()).to.equal(0);
    await approveGate(other.page, 'publish');
    await gateOf(other.page, 'publish').getByText('agreed, 2 of 2, one a code owner').waitFor();
    await open(one.page, run);
    await gateOf(one.page, 'publish').getByText('agreed, 2 of 2, one a code owner').waitFor();
    expect(new Set(await approvals(run, 'publish'))).to.deep.equal(new Set(['approved']));
    const decided = (await current(run)).actions.find(({ definition }) => definition.gate === 'publish');
    expect(decided!.decisions.map(({ approver }) => approver)).to.deep.equal(['kim', 'jo']);
  });

  it('does not count who asked for the run, and says so', async () => {
    at.review.policy({
      people,
      approval: { rules: [{ name: 'not alone', gates: ['build'], not_requester: true }] },
    });
    const run = await at.review.planned('Asked by mira.', undefined, mira);
    const { page } = await at.browsers.person('mira');
    await open(page, run);
    await approveGate(page, 'build');
    await page.getByRole('alert').getByText('mira asked for this run').waitFor();
    expect(new Set(await approvals(run, 'build'))).to.deep.equal(new Set(['required']));
    const { page: jo } = await at.browsers.person('jo');
    await open(jo, run);
    await approveGate(jo, 'build');
    await gateOf(jo, 'build').getByText('agreed, 1 of 1').waitFor();
    expect(new Set(await approvals(run, 'build'))).to.deep.equal(new Set(['approved']));
  });

  it('refuses the second person whose page is older than a rejection', async () => {
    at.review.policy({ people, approval: { rules: [{ name: 'both', gates: ['build'], approvers: 2 }] } });
    const run = await at.review.planned('Rejected in between.', undefined, mira);
    const [jo, kim] = [await at.browsers.person('jo'), await at.browsers.person('kim')];
    await kim.page.route('**/live?*', (route) => route.abort());
    await Promise.all([open(jo.page, run), open(kim.page, run)]);
    await approveGate(jo.page, 'build');
    await gateOf(jo.page, 'build').getByText('waits, 1 of 2').waitFor();
    const first = jo.page.locator('[data-action]').first();
    await first.getByText('Change the decision').click();
    await first.locator('[data-reject]').locator('summary').click();
    await first.getByLabel(/Why/).fill('Not so.');
    await first.getByRole('button', { name: /Reject 1/ }).click();
    await jo.page.getByText('rejected by').first().waitFor();
    await approveGate(kim.page, 'build');
    await kim.page.getByRole('alert').getByText('Nothing was recorded, the run has changed').waitFor();
    const { actions } = await current(run);
    expect(actions[0]!.approval).to.equal('rejected');
    expect(actions.flatMap(({ decisions }) => decisions).map(({ approver }) => approver)).to.not.include(
      'kim',
    );
  });

  it('names the standing approval, its author and its digest', async () => {
    const inAWeek = new Date(Date.now() + 7 * 86_400_000).toISOString();
    const standing = {
      name: 'small builds',
      author: 'keeper',
      repositories: ['demo/*'],
      forges: ['local'],
      risk_at_most: 100,
      expires_at: inAWeek,
      untrusted_influence: true,
    };
    await at.review.link('keeper', { scopes: [...everyScope, 'admin'] });
    at.review.policy({ people, approval: { standing: [standing] } });
    const run = await at.review.planned('In advance.', undefined, mira);
    const { page } = await at.browsers.person('jo');
    await open(page, run);
    const build = gateOf(page, 'build');
    const used = (await current(run)).actions[0]!.decision!.standing!;
    await build
      .locator('.of-gate')
      .getByText(
        `approved by the standing approval small builds of keeper, digest ${used.digest.slice(0, 12)}`,
      )
      .waitFor();
    await page.locator('.run-facts').getByText('4 approved in advance').waitFor();
  });

  it('lets a lapsed approval be given again at once, without a rejection between', async () => {
    at.review.policy({});
    const run = await at.review.planned('To approve again.', undefined, mira);
    const leaver = await at.browsers.person('leaver');
    await open(leaver.page, run);
    await approveGate(leaver.page, 'build');
    await gateOf(leaver.page, 'build').getByText('approved by leaver').first().waitFor();
    at.review.revoke('leaver');
    const { page } = await at.browsers.person('jo');
    await open(page, run);
    const first = page.locator('[data-action]').first();
    // The page shows this before an execution tries it.
    await first.getByText('approval lapsed').waitFor();
    await first.getByText(/the token 'leaver' was revoked/).waitFor();
    expect(await page.getByRole('button', { name: 'Execute', exact: true }).count()).to.equal(0);
    // As the terminal interface and programs get it.
    expect(runView(await current(run)).actions.map(({ approval_lapsed }) => approval_lapsed)).to.include(
      true,
    );
    await first.getByRole('button', { name: 'Approve again' }).click();
    await first.getByText('approved by jo').waitFor();
    const [action] = (await current(run)).actions;
    expect([action!.approval, action!.decision?.approver]).to.deep.equal(['approved', 'jo']);
    expect(runView(await current(run)).actions[0]!.approval_lapsed).to.equal(undefined);
  });
});
