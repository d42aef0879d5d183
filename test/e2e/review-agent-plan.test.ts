import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { scriptedAgent } from '../fixtures/agents/scripted-settings.ts';
import { reviewInBrowsers } from '../fixtures/review/people-in-browsers.ts';
import { until } from '../fixtures/until.ts';
import { everybody, quiet, ref } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(['chromium', 'bubblewrap'], 'A plan by an agent on the review page', function () {
  this.timeout(180_000);
  const at = reviewInBrowsers();

  before(async () => {
    const steps = [
      { write: 'src/greet.js', content: "export const greet = (name) => 'Hello ' + (name || 'stranger');\n" },
      { keep_prompt: 'prompt.txt' },
      { say: 'Greet strangers' },
    ];
    const slow = scriptedAgent(
      { steps: [{ write: 'half.md', content: 'Half a page.\n' }, { hang: 'until cancelled' }] },
      { dialect: null, bounds: { seconds: 4, money: undefined, turns: undefined } },
    );
    const agents = { scripted: scriptedAgent({ steps }, { dialect: null }), slow };
    writeFileSync(join(at.review.world.home, 'config/agents.json'), JSON.stringify({ agents }));
  });

  async function plannedByAgent() {
    const number = await at.review.world.newIssue('Strangers are greeted wrongly.');
    return at.review.world.agent.planIssue({ ...ref, number, planner: 'scripted', by: everybody }, quiet);
  }
  const patchOf = async (run_id: string) =>
    Buffer.from(await at.review.world.agent.diff(run_id)).toString('utf8');

  it('takes the comments at lines along in a note to the next plan, which is read by the planner as data', async () => {
    const before = await plannedByAgent();
    expect(await patchOf(before.run_id)).to.not.contain('"note"');
    const { page } = await at.browsers.person('mira');
    await page.goto(`${at.review.url}/runs/${before.run_id}`);
    const line = page.locator('.row').filter({ hasText: "(name || 'stranger')" });
    await line.locator('[role="rowheader"]').last().click();
    await page.getByLabel(/Comment on src\/greet\.js/).fill('Greet by first name alone.');
    await page.getByRole('button', { name: 'Save the comment' }).click();
    await page.getByRole('button', { name: 'Put into a note to the next plan' }).click();
    const note = await page.getByLabel('What should the next plan know?').inputValue();
    expect(note).to.match(/^src\/greet\.js:\d+: Greet by first name alone\.$/);
    await page.getByRole('button', { name: 'Plan again', exact: true }).click();
    await page.waitForURL((address) => !address.pathname.includes(before.run_id));
    const run_id = new URL(page.url()).pathname.split('/').at(-1)!;
    await until('it is planned', async () => (await at.review.world.agent.run(run_id)).plan !== null);
    const after = await at.review.world.agent.run(run_id);
    expect(after.request.note).to.deep.equal({ text: note, trusted: true });
    expect(await patchOf(run_id)).to.contain(`"text": ${JSON.stringify(note)}`);
    const { influences } = after.actions[0]!.definition;
    expect(influences).to.deep.include({
      kind: 'note',
      source: `note of mira: ${note}`,
      author: 'mira',
      trusted: true,
    });
    await page.locator('.note').getByText(note).waitFor();
    expect((await at.review.world.agent.run(before.run_id)).superseded_by).to.equal(run_id);
    const { problems } = await at.review.world.agent.verify(run_id);
    expect(problems).to.deep.equal([]);
  });

  it('marks a note as text of an outsider where who wrote it may not approve, and refuses one with a secret', async () => {
    const before = await plannedByAgent();
    await at.review.link('planner', { scopes: ['read', 'plan'] });
    const { page } = await at.browsers.person('planner');
    const again = async (note: string) => {
      await page.goto(`${at.review.url}/runs/${before.run_id}`);
      await page.keyboard.press('p');
      await page.keyboard.type(note);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
    };
    await again(`use ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`);
    await page.getByText('the note holds what looks like a secret').waitFor();
    await again('Be kind.');
    await page.waitForURL((address) => !address.pathname.includes(before.run_id));
    const run_id = new URL(page.url()).pathname.split('/').at(-1)!;
    await until('it is planned', async () => (await at.review.world.agent.run(run_id)).plan !== null);
    const { influences } = (await at.review.world.agent.run(run_id)).actions[0]!.definition;
    expect(influences.find(({ kind }) => kind === 'note')).to.include({ author: 'planner', trusted: false });
  });

  it('finds what a stopped agent left in the same diff, and as text', async () => {
    const number = await at.review.world.newIssue('A slow one.');
    await at.review.world.agent
      .planIssue({ ...ref, number, planner: 'slow', by: everybody }, quiet)
      .catch(() => null);
    const [listed] = (await at.review.world.agent.runs({ limit: 1, ...ref, number })).runs;
    const { page } = await at.browsers.person('mira');
    await page.goto(`${at.review.url}/runs/${listed!.run_id}`);
    await page.getByRole('link', { name: 'What the agent left so far' }).click();
    await page.locator('core-diff.ready .row').filter({ hasText: 'Half a page.' }).waitFor();
    await page.keyboard.press('v');
    await page.locator('core-diff.split .row').filter({ hasText: 'Half a page.' }).waitFor();
    await page.getByRole('link', { name: 'Raw patch' }).click();
    await page.locator('pre').getByText('+Half a page.').waitFor();
  });

  it('takes a note by the command line too', async () => {
    const number = await at.review.world.newIssue('By the command line.');
    const args = ['plan', `demo/hello#${number}`, '--planner', 'scripted', '--json'];
    const { code, stdout, stderr } = await at.review.world.command([
      ...args,
      '--note',
      'Only docs.\nNo code.',
    ]);
    expect(code, stderr).to.equal(0);
    const { run_id } = JSON.parse(stdout);
    expect(await patchOf(run_id)).to.contain(JSON.stringify('Only docs.\nNo code.'));
    const shown = await at.review.world.command(['show', run_id]);
    expect(shown.stdout).to.match(/note of \S+ to this plan:\n {2}Only docs\.\n {2}No code\./);
    const empty = await at.review.world.command([...args, '--note', ' ']);
    expect([empty.code, empty.stderr.includes('--note')]).to.deep.equal([2, true]);
  });
});
