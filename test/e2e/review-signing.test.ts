import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { tokenNameFor } from '#kit/tokens/token.ts';
import { openBrowsers, type PeopleInBrowsers, pageWidth } from '../fixtures/review/people-in-browsers.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { allowSigners, newSigner, type Signer } from '../fixtures/signing/signer.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import { describeWith } from '../needs.ts';

describeWith(['chromium', 'ssh'], 'Signing what the review page shows', function () {
  this.timeout(180_000);
  const person = tokenNameFor(userInfo().username);
  let review: ReviewWorld;
  let browsers: PeopleInBrowsers;
  let signer: Signer;

  beforeEach(async () => {
    review = await makeReviewWorld();
    browsers = await openBrowsers(review);
    signer = newSigner();
    const config = join(review.world.home, 'config');
    allowSigners(join(config, 'allowed_signers'), [{ principal: person, signer }]);
    const settings = join(config, 'core.json');
    const before = existsSync(settings) ? JSON.parse(readFileSync(settings, 'utf8')) : {};
    writeFileSync(settings, JSON.stringify({ ...before, signing: { key: signer.key } }));
  });
  afterEach(async () => {
    const problems = await browsers?.leave();
    await browsers?.close();
    await review?.close();
    expect(problems).to.deep.equal([]);
  });

  /** As a person types it: in the folder of Core, by a shell. */
  const typed = (command: string) => ended('bash', ['-c', command], {}, dirname(core));

  for (const [where, approval] of [
    ['a rule', { rules: [{ name: 'signed', require_signature: true }] }],
    ['the policy', { require_signature: true }],
  ] as const) {
    it(`prints the command where ${where} asks for it, and shows at once that its approval came`, async () => {
      review.policy({ approval, people: { [person]: {}, jo: {} } });
      const run = await review.planned('To be signed.');
      const { page, context } = await browsers.person('jo');
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.goto(`${review.url}/runs/${run.run_id}`);
      expect(
        await page
          .locator('main')
          .getByRole('button', { name: /^Approve/ })
          .count(),
      ).to.equal(0);

      const first = page.locator('[data-action]').first();
      await first.locator('[data-sign]').getByRole('button', { name: 'Copy' }).click();
      await page.locator('#live').getByText('copied').waitFor();
      const command = await page.evaluate<string>('navigator.clipboard.readText()');
      expect(command).to.equal(await first.locator('.command').textContent());
      const { action_id, digest } = run.actions[0]!.definition;
      expect(command).to.contain(
        `./core approve --sign --run-id ${run.run_id} ${action_id} --digest ${digest}`,
      );
      const one = await typed(command);
      expect(one.code, one.stderr).to.equal(0);
      await first.getByText(`${person}, signed`).waitFor();
      expect(await first.locator('[data-sign]').isVisible()).to.equal(false);

      await page.setViewportSize({ width: 390, height: 844 });
      expect(await pageWidth(page)).to.equal(390);
      const gate = await page.locator('#gate-publish .command').textContent();
      const all = await typed(gate!);
      expect(all.code, all.stderr).to.equal(0);
      await page.locator('#gate-publish').waitFor({ state: 'detached' });
      const { actions } = await review.world.agent.run(run.run_id);
      const signed = actions.filter(({ decision }) => decision?.signature !== undefined);
      expect(signed.map(({ definition }) => definition.ordinal)).to.deep.equal([1, 5, 6, 7]);
      const { problems } = await review.world.agent.verify(run.run_id);
      expect(problems).to.deep.equal([]);

      const stale = await typed(command.replace(digest, '0'.repeat(64)));
      expect([stale.code === 0, stale.stderr]).to.satisfy(
        ([done, said]: [boolean, string]) => !done && said.includes('you named another'),
      );
    });
  }
});
