import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startChromium } from '../../test/fixtures/chromium.ts';
import { makeReviewWorld } from '../../test/fixtures/review/review-world.ts';

/** A PNG of the review page. */
export interface Screenshot {
  /** Below the site's `public/`. */
  readonly name: string;
  readonly png: Buffer;
}

/** Pixels of CSS. */
const view = { width: 1000, height: 720 };

/** The people of a rule that needs two of them. */
const policy = {
  people: { mira: {}, jo: { logins: ['jo'] } },
  approval: { rules: [{ name: 'two for what others see', gates: ['publish'], approvers: 2 }] },
};

/** The review page as a browser shows it now. Needs chromium. */
export async function takeScreenshots(): Promise<Screenshot[]> {
  const review = await makeReviewWorld();
  const browser = await startChromium();
  try {
    const done = await review.planned();
    const waiting = await review.planned('A name of spaces alone is greeted as it is.', 'Spaces count as a name');
    await review.world.newIssue('It should say until when.', 'Greet with the time of day');
    const page = await browser.newPage({ viewport: view, deviceScaleFactor: 1.5, reducedMotion: 'reduce' });
    await signIn(page, await review.link('mira', { run: done.run_id }), 'mira');
    for (const gate of ['build', 'publish']) await approve(page, gate);
    await page.getByRole('button', { name: 'Execute', exact: true }).click();
    await page.getByText(/Done: pull request #\d+ is open\./).waitFor({ timeout: 120_000 });

    const shots: Screenshot[] = [];
    const shoot = async (name: string, path: string, scrollTo?: string) => {
      await page.goto(review.url + path);
      if (scrollTo !== undefined) await page.locator(scrollTo).evaluate((element) => element.scrollIntoView());
      shots.push({ name, png: await page.screenshot() });
    };
    const build = '#gate-build-title ~ article:nth-of-type(2)';
    await shoot('review-list.png', '/');
    await shoot('review-run.png', `/runs/${waiting.run_id}`, build);
    await shoot('review-split.png', `/runs/${waiting.run_id}?view=split`, 'core-diff');
    await shoot('review-graph.png', `/runs/${done.run_id}/graph`);
    await shoot('review-timeline.png', `/runs/${done.run_id}/timeline`);
    await shoot('review-recovery.png', `/runs/${done.run_id}/recovery`);
    await shoot('review-plan.png', '/plan?repository=demo/hello');

    review.policy(policy);
    const both = await review.planned('It should greet strangers.', 'Two people decide');
    const other = await browser.newPage();
    await signIn(other, await review.link('jo', { run: both.run_id }), 'jo');
    await other.locator('#gate-publish').getByRole('button').click();
    await other.getByText('waits, 1 of 2').first().waitFor();
    await shoot('review-agreement.png', `/runs/${both.run_id}`, '#gate-publish-title');
    await page.goto(review.url);
    for (const { run_id } of [waiting, both]) await page.locator(`#choose-${run_id}`).check();
    await page.getByRole('button', { name: 'Decide about the selected runs' }).click();
    await page.locator('#gate-publish-title').evaluate((element) => element.scrollIntoView());
    shots.push({ name: 'review-batch.png', png: await page.screenshot() });
    await page.setViewportSize({ ...view, height: 320 });
    await shoot('review-inbox.png', '/inbox');
    review.policy({ approval: { require_signature: true } });
    await page.setViewportSize({ ...view, height: 420 });
    await shoot('review-signing.png', `/runs/${waiting.run_id}`, '#gate-publish');

    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 780 });
    await shoot('review-phone.png', `/runs/${waiting.run_id}`, build);
    await page.emulateMedia({ colorScheme: 'light' });
    const issuer = 'https://id.example.org';
    const oidc = { name: 'Example ID', issuer, client_id: 'core', address: review.url, groups: { all: ['read'] } };
    writeFileSync(join(review.world.home, 'config/oidc.json'), JSON.stringify(oidc));
    await page.context().clearCookies();
    await page.setViewportSize({ ...view, height: 420 });
    await shoot('review-sign-in.png', '/');
    return shots;
  } finally {
    await browser.close();
    await review.close();
  }
}

async function signIn(page: Page, link: string, name: string): Promise<void> {
  await page.goto(link);
  await page.getByRole('button', { name: `Sign in as ${name}` }).click();
}

async function approve(page: Page, gate: string): Promise<void> {
  const form = page.locator(`#gate-${gate}`);
  const word = form.getByLabel(/type approve/);
  if ((await word.count()) > 0) await word.fill('approve');
  await form.getByRole('button').click();
  await form.waitFor({ state: 'detached' });
}
