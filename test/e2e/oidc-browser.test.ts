import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { EndedSessions, ReviewSessions } from '#kit/contracts/review.ts';
import { createHttpClient } from '#kit/http/client.ts';
import { createToken } from '#kit/tokens/tokens.ts';
import { startChromium } from '../fixtures/chromium.ts';
import { makeOidcWorld, type OidcWorld } from '../fixtures/oidc/oidc-world.ts';
import { axeFindings, pageWidth } from '../fixtures/review/people-in-browsers.ts';
import { describeWith } from '../needs.ts';

describeWith(['chromium'], 'Signing in by an identity provider in a browser', function () {
  this.timeout(180_000);
  let world: OidcWorld;
  let browser: Browser;
  const problems: string[] = [];

  before(async () => {
    [world, browser] = await Promise.all([makeOidcWorld(), startChromium()]);
    world.provider.accounts.set('mira', { email: 'mira@example.org', groups: ['leads'] });
  });
  after(async () => {
    await browser?.close();
    await world?.close();
  });
  afterEach(() => expect(problems.splice(0)).to.deep.equal([]));

  async function opened(path: string): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      // A page that is refused is said here too, and the provider has no icon.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        problems.push(message.text());
    });
    await page.goto(world.review.url + path);
    return page;
  }

  async function signIn(page: Page, name = 'mira'): Promise<void> {
    await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
    await page.waitForURL(`${world.provider.issuer}/login/**`);
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Log in' }).click();
  }

  it('goes to the provider on another site and back to the run, approves, and signs out of both', async () => {
    const run = await world.review.planned();
    const page = await opened(`/runs/${run.run_id}`);
    await signIn(page);
    await page.waitForURL(`${world.review.url}/runs/${run.run_id}`);
    await page.getByText('mira@example.org', { exact: true }).waitFor();
    const names = (await page.context().cookies(world.review.url)).map(({ sameSite, httpOnly }) => [
      sameSite,
      httpOnly,
    ]);
    expect(names).to.deep.include(['Strict', true]).and.to.deep.include(['Lax', true]);
    const gate = page.locator('#gate-build');
    const word = gate.getByLabel(/type approve/);
    if ((await word.count()) > 0) await word.fill('approve');
    await gate.getByRole('button').click();
    await gate.waitFor({ state: 'detached' });
    const { actions } = await world.review.world.agent.run(run.run_id);
    expect(actions[0]!.decision?.account?.subject).to.equal('sub-mira');
    await page.getByText('approved by mira@example.org#').first().waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign out there too' }).click();
    await page.waitForURL(`${world.provider.issuer}/**`);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${world.review.url}/signed-out**`);
    await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
    // The provider knows the browser no more.
    await page.getByLabel('Name').waitFor();
  });

  it('asks again who it is as soon as its session was ended, while something live is shown', async () => {
    const run = await world.review.planned();
    const page = await opened(`/runs/${run.run_id}`);
    await signIn(page);
    await page.getByText('mira@example.org', { exact: true }).waitFor();
    const { review } = world;
    const folders = { tokens: `${review.world.home}/config/tokens` };
    const { text } = createToken(folders, { name: 'chief', scopes: ['read', 'admin'] });
    const client = createHttpClient({ baseUrl: review.url, token: text });
    try {
      const { sessions } = await client.get('/v1/review/sessions', ReviewSessions);
      for (const { name } of sessions)
        await client.delete(`/v1/review/sessions?${new URLSearchParams({ of: name })}`, EndedSessions);
    } finally {
      await client.close();
    }
    await page.getByText('signed out: load the page again').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no finding of axe-core before and after somebody is signed in, and fits a phone, ${colorScheme}`, async () => {
      world.provider.accounts.set('kim', {
        email: 'kim@example.org',
        groups: ['/a/group/of/another/department'],
      });
      const viewport = { width: 390, height: 844 };
      const context = await browser.newContext({ colorScheme, bypassCSP: true, viewport });
      const page = await context.newPage();
      const look = async (what: string) => {
        expect(await axeFindings(page), `${what} ${colorScheme}`).to.deep.equal([]);
        expect(await pageWidth(page), what).to.equal(390);
      };
      await page.goto(world.review.url);
      await look('at sign-in');
      await signIn(page, 'kim');
      await page.getByRole('heading', { name: 'No group' }).waitFor();
      await look('without a group');
      await page.goto(`${world.review.url}/signed-out?of=provider`);
      await page.getByRole('link', { name: 'Sign out there too' }).waitFor();
      await look('signed out');
      await page.goto(`${world.review.url}/sign-in/callback?state=x`);
      await look('refused');
      await context.close();
    });
  }
});
