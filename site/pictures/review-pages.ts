import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findProgram } from '../../services/kit/find-program.ts';
import { makeReviewWorld } from '../../test/fixtures/review/review-world.ts';

/** A PNG of the review page. */
export interface Screenshot {
  /** Below the site's `public/`. */
  readonly name: string;
  readonly png: Buffer;
}

/** Pixels of CSS. */
const view = { width: 1000, height: 720 };

/** The review page as a browser shows it now: list, a run to decide, the graph of one that is done. Needs chromium. */
export async function takeScreenshots(): Promise<Screenshot[]> {
  const executablePath = findProgram('chromium');
  if (executablePath === null) throw new Error('chromium is missing: apt-get install chromium');
  const review = await makeReviewWorld();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const done = await review.planned();
    const waiting = await review.planned('A name of spaces alone is greeted as it is.', 'Spaces count as a name');
    const page = await browser.newPage({ viewport: view, deviceScaleFactor: 1.5, reducedMotion: 'reduce' });
    await page.goto(await review.link('mira', { run: done.run_id }));
    await page.getByRole('button', { name: 'Sign in as mira' }).click();
    for (const gate of ['build', 'publish']) {
      const form = page.locator(`#gate-${gate}`);
      const word = form.getByLabel(/type approve/);
      if ((await word.count()) > 0) await word.fill('approve');
      await form.getByRole('button').click();
      await form.waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'Execute', exact: true }).click();
    await page.getByText('Done: every action succeeded.').waitFor({ timeout: 120_000 });

    const shots: Screenshot[] = [];
    const shoot = async (name: string, path: string, scrollTo?: string) => {
      await page.goto(review.url + path);
      if (scrollTo !== undefined) await page.locator(scrollTo).evaluate((element) => element.scrollIntoView());
      shots.push({ name, png: await page.screenshot() });
    };
    await shoot('review-list.png', '/');
    await shoot('review-run.png', `/runs/${waiting.run_id}`, '#gate-build-title ~ article:nth-of-type(2)');
    await shoot('review-graph.png', `/runs/${done.run_id}/graph`);
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
