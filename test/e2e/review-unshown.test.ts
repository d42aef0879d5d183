import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { startChromium } from '../fixtures/chromium.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { helloFiles } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(['chromium'], 'Lines around a change on the review page', () => {
  const rest = Array.from({ length: 40 }, (_, index) => `// note ${index}`).join('\n');
  let review: ReviewWorld;
  let browser: Browser;

  before(async () => {
    const greet = `${helloFiles['src/greet.js']}${rest}\n`;
    review = await makeReviewWorld({ ...helloFiles, 'src/greet.js': greet });
    browser = await startChromium();
  });
  after(async () => {
    await browser?.close();
    await review?.close();
  });

  it('are shown when asked for, with their numbers, and said to be missing where the clone is gone', async () => {
    const run = await review.planned();
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', ({ message }) => problems.push(message));
    await page.goto(await review.link('mira'));
    await page.getByRole('button', { name: 'Sign in as mira' }).click();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.goto(`${review.url}/runs/${run.run_id}`);
    const more = page.getByRole('link', { name: 'Show unchanged lines after' });
    await more.click();
    await page.getByText('// note 39').waitFor();
    expect(await page.locator('core-diff .row.unshown').last().innerText()).to.match(
      /43\s+43\s+\/\/ note 39/,
    );
    expect(await more.count()).to.equal(0);

    rmSync(join(review.world.home, 'state/mirrors'), { recursive: true });
    await page.reload();
    await more.click();
    await page.getByRole('cell', { name: 'This host has no clone to read them from' }).waitFor();
    expect(problems).to.deep.equal([]);
  });
});
