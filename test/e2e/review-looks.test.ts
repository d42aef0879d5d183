import { expect } from 'chai';
import { axeFindings, pageWidth, reviewInBrowsers } from '../fixtures/review/people-in-browsers.ts';
import { describeWith } from '../needs.ts';

describeWith(['chromium'], 'How the review page looks', function () {
  this.timeout(180_000);
  const at = reviewInBrowsers();

  const pages = ['', '/issue', '/transcript', '/timeline', '/graph', '/recovery', '/change'] as const;
  /** With the open issues, and where they cannot be listed. */
  const plans = ['/plan?repository=demo/hello', '/plan?repository=demo/nothing', '/plan?repository=x'];

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no finding of axe-core on any page, ${colorScheme}`, async () => {
      const run = await at.review.planned(
        '- a list\n\n> with [a link](https://example.com)\n\n| a |\n|---|\n| b |\n',
      );
      const { page } = await at.browsers.person('mira', { colorScheme, bypassCSP: true });
      const addresses = [
        '/',
        '/?text=nothing',
        '/plan',
        ...plans,
        '/inbox',
        '/inbox?all=true',
        '/runs/run_00000000',
        ...pages.map((part) => `/runs/${run.run_id}${part}`),
        '/signed-out',
      ];
      for (const address of addresses) {
        await page.goto(at.review.url + address);
        const found = await axeFindings(page);
        expect(found, `${address} ${colorScheme}`).to.deep.equal([]);
      }
    });
  }

  it('fits 390 pixels, without anything beside the window', async () => {
    const run = await at.review.planned('A narrow one.');
    await at.review.world.newIssue('Not planned.', `${'Unbreakable'.repeat(20)} and then some more words`);
    const { page } = await at.browsers.person('mira', {
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
    });
    for (const address of [
      '/',
      '/plan',
      ...plans,
      '/inbox',
      ...pages.map((part) => `/runs/${run.run_id}${part}`),
    ]) {
      await page.goto(at.review.url + address);
      expect(await pageWidth(page), address).to.equal(390);
      if (address.endsWith('demo/hello'))
        expect(await page.locator('.issue-row').count()).to.be.greaterThan(1);
    }
  });

  it('shows the sign of a changed line within the line', async () => {
    const run = await at.review.planned('To be read.');
    const { page } = await at.browsers.person('mira');
    await page.goto(`${at.review.url}/runs/${run.run_id}`);
    const row = page.locator('core-diff .row.ins').first();
    await row.scrollIntoViewIfNeeded();
    const line = (await row.boundingBox())!;
    const sign = (await row.locator('.sign').boundingBox())!;
    expect(sign.y).to.be.at.least(line.y);
    expect(sign.y + sign.height).to.be.at.most(line.y + line.height + 1);
  });
});
