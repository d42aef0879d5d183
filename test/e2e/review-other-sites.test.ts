import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import type { Run } from '../../services/agentd/runs/run.ts';
import { startChromium } from '../fixtures/chromium.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { describeWith } from '../needs.ts';

/** Another port of the same host is another origin, but the same site: its requests carry the cookie. */
describeWith(['chromium'], 'A page of another port, in a browser that is signed in', function () {
  this.timeout(120_000);
  let review: ReviewWorld;
  let browser: Browser;
  let page: Page;
  let other: Server;
  let otherUrl: string;
  let run: Run;

  before(async () => {
    [review, browser] = await Promise.all([makeReviewWorld(), startChromium()]);
    other = createServer((_, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Other</title><p>Hello');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    run = await review.planned();
    page = await browser.newPage();
    await page.goto(await review.link('mira'));
    await page.getByRole('button', { name: 'Sign in as mira' }).click();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.goto(otherUrl);
  });
  after(async () => {
    await browser?.close();
    other?.close();
    await review?.close();
  });

  it('reads nothing of the page, frames nothing and decides nothing', async () => {
    const address = `${review.url}/runs/${run.run_id}`;
    const { definition, approval } = run.actions[0]!;
    const seen = `${definition.action_id} ${definition.digest} ${approval}`;
    const came = await page.evaluate(`(${tryAll})(${JSON.stringify({ address, seen })})`);
    expect(came).to.deep.equal({
      fetched: 'refused',
      'fetched blindly': 'refused',
      'heard live': 'refused',
      'sent a form blindly': 'refused',
      'ran as a script': 'refused',
      'drawn as a picture': 'refused',
    });
    await page.setContent(`<iframe src="${address}"></iframe>`);
    const frame = page.frames().find((one) => one !== page.mainFrame())!;
    await frame.waitForLoadState();
    expect(await frame.locator('main').count()).to.equal(0);
    await page.goto(otherUrl);
    await page.setContent(
      `<form method="post" action="${address}/decisions"><input name="csrf" value="x"><input name="decision" value="approve"><input name="seen" value="${seen}"><button>Free</button></form>`,
    );
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'Forbidden' }).waitFor();
    expect((await review.world.agent.run(run.run_id)).actions[0]!.decision).to.equal(null);
  });
});

/** Runs in the browser. */
const tryAll = `async ({ address, seen }) => {
  const loaded = (element) =>
    new Promise((resolve, reject) => {
      element.onload = resolve;
      element.onerror = reject;
      element.src = address;
      document.body.append(element);
    });
  const blind = { mode: 'no-cors', credentials: 'include' };
  const body = new URLSearchParams({ csrf: 'x', decision: 'approve', seen });
  const ways = {
    fetched: () => fetch(address, { credentials: 'include' }),
    'fetched blindly': () => fetch(address, blind),
    'heard live': () =>
      new Promise((resolve, reject) => {
        const events = new EventSource(address + '/live', { withCredentials: true });
        events.onopen = resolve;
        events.onerror = reject;
      }),
    'sent a form blindly': () => fetch(address + '/decisions', { ...blind, method: 'POST', body }),
    'ran as a script': () => loaded(document.createElement('script')),
    'drawn as a picture': () => loaded(document.createElement('img')),
  };
  const came = {};
  for (const [name, attempt] of Object.entries(ways))
    came[name] = await attempt().then(() => 'done', () => 'refused');
  return came;
}`;
