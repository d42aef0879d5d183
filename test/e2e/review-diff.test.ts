import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { startChromium } from '../fixtures/chromium.ts';
import { serveDiffs } from '../fixtures/review/diff-server.ts';
import { longPatch } from '../fixtures/review/long-patch.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

const lines = 50_000;
const files = 50;
const small = `diff --git a/src/greet.js b/src/greet.js
--- a/src/greet.js
+++ b/src/greet.js
@@ -1,4 +1,5 @@
 function greet(name) {
-  return 'Hello ' + name;
+\tif (name === '') return 'Hello stranger';
+  return 'Hello ' + na\u202eme;
   // the end
 }
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -1 +1 @@
-old
+${'new '.repeat(300_000)}
`;

/** 600 unchanged lines between two changed ones. */
const folded = `diff --git a/a.js b/a.js
--- a/a.js
+++ b/a.js
@@ -1,602 +1,602 @@
-old
+new
${Array.from({ length: 600 }, (_, line) => ` ${line === 450 ? 'needle in the middle' : `line ${line}`}`).join('\n')}
-end
+END
`;

describeWith(['chromium'], 'The diff of the review page', () => {
  let server: Awaited<ReturnType<typeof serveDiffs>>;
  let browser: Browser;
  const problems: string[] = [];

  before(async () => {
    server = await serveDiffs({ long: longPatch(lines, files), small, folded });
    browser = await startChromium();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1300, height: 900 }, ...options });
    problems.length = 0;
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(`${server.url}/${path}`);
    return page;
  }

  const rows = (page: Page) => page.locator('.row[data-row]').count();

  it('keeps few of 50,000 lines on the page, and has each where one scrolls to', async () => {
    const page = await open('long');
    const height = await page.evaluate('document.documentElement.scrollHeight');
    expect(height).to.be.above(lines * 20);
    for (const part of [0.2, 0.5, 0.9, 0.4]) {
      await page.evaluate(`scrollTo(0, ${part} * document.documentElement.scrollHeight)`);
      await until('the rows in the window are there', () => rowInWindow(page));
      expect(await rows(page)).to.be.within(30, 1_500);
    }
    expect(await page.evaluate('document.documentElement.scrollHeight')).to.be.closeTo(height as number, 200);
    expect(problems).to.deep.equal([]);
    await page.close();
  });

  it('finds a text in all of 50,000 lines by keys, also where rows are folded or not there', async () => {
    const page = await open('long');
    const current = async () => (await page.locator('.row.current').allTextContents()).join();
    const found = (text: string) => page.locator('[data-found]').getByText(text, { exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('PART7()');
    await page.keyboard.press('Enter');
    await until('the row is current', async () => (await current()).includes('part7()'));
    const count = (await page.locator('[data-found]').textContent())!.split(' ').at(-1);
    await found(`1 of ${count}`);
    const first = await page.locator('.row.current').getAttribute('data-row');
    await page.keyboard.press('N');
    await found(`${count} of ${count}`);
    await page.keyboard.press('n');
    await found(`1 of ${count}`);
    expect(await page.locator('.row.current').getAttribute('data-row')).to.equal(first);
    expect(await page.evaluate('CSS.highlights.get("found").size')).to.be.greaterThan(0);
    await page.locator('[data-find]').fill('there is no such text');
    await page.locator('[data-find]').press('Enter');
    await found('not found');
    expect(problems).to.deep.equal([]);
    await page.close();
  });

  it('unfolds what holds the text that is searched for', async () => {
    const page = await open('folded');
    expect(await page.getByText('needle in the middle').count()).to.equal(0);
    await page.locator('[data-find]').fill('needle in');
    await page.locator('[data-find]').press('Enter');
    await page.locator('.row.current').getByText('needle in the middle').waitFor();
    expect(problems).to.deep.equal([]);
    await page.close();
  });

  it('goes from change to change and from file to file by keys, also where no rows are yet', async () => {
    const page = await open('long');
    const current = async () => (await page.locator('.row.current').allTextContents()).join();
    for (let step = 0; step < 3; step++) {
      await page.keyboard.press('}');
      await until('the next change is current', async () => (await current()).includes(`part${step}()`));
    }
    await page.keyboard.press('{');
    await until('the one before is', async () => (await current()).includes('part1()'));
    for (let step = 0; step < 4; step++) await page.keyboard.press(']');
    await until(
      'the fifth file is below what stays at the top',
      async () => (await topOf(page, '[data-file="4"]')) === 56,
    );
    await page.evaluate('scrollTo(0, 0.7 * document.documentElement.scrollHeight)');
    await page.locator('[data-file="20"] h3 button').click();
    await page.keyboard.press('}');
    await until('the next change is in the window', () => rowInWindow(page));
    expect(problems).to.deep.equal([]);
    await page.close();
  });

  it('shows both sides beside each other at the same line, and remembers what was viewed', async () => {
    const page = await open('small');
    await page.getByText('Side by side').click();
    await page.locator('.row.both').first().waitFor();
    expect(new URL(page.url()).search).to.equal('?view=split');
    const pair = page.locator('.row.both', { hasText: 'stranger' });
    expect(await pair.locator('.code').allTextContents()).to.deep.equal([
      "-  return 'Hello ' + name;",
      "+\tif (name === '') return 'Hello stranger';",
    ]);
    await page.getByLabel('Viewed').first().check();
    expect(await page.locator('[data-viewed]').textContent()).to.equal('1 of 2 viewed');
    expect(await page.locator('[data-file="0"] .diff-body').isVisible()).to.equal(false);
    await page.reload();
    await until('the mark is there again', async () => page.getByLabel('Viewed').first().isChecked());
    expect(await page.locator('[data-file="0"] .diff-body').isVisible()).to.equal(false);
    await page.close();
  });

  it('collects comments at lines for the reason of a rejection', async () => {
    const page = await open('small');
    await page.locator('.row', { hasText: 'stranger' }).locator('[role="rowheader"]').click();
    await page.keyboard.type('too\nfriendly');
    await page.keyboard.press('Control+Enter');
    await page.locator('.comment', { hasText: 'friendly' }).waitFor();
    await page.locator('.row', { hasText: 'the end' }).locator('.code').click();
    await page.keyboard.press('C');
    await page.keyboard.type('whose end?');
    await page.getByText('Save the comment').click();
    await page.reload();
    await page.locator('.comment', { hasText: 'whose end?' }).waitFor();
    const reason = page.getByLabel('Reason');
    await reason.fill('Not yet.');
    await page.getByText('Put into the reason').click();
    const expected = 'Not yet.\nsrc/greet.js:2: too friendly\nsrc/greet.js:4: whose end?';
    expect(await reason.inputValue()).to.equal(expected);
    await page.getByText('Put into the reason').click();
    expect(await reason.inputValue()).to.equal(expected);
    await page.locator('.diff-draft li', { hasText: 'friendly' }).getByText('Remove').click();
    expect(await page.locator('.comment').count()).to.equal(1);
    expect(problems).to.deep.equal([]);
    await page.close();
  });

  it('shows all of a line of a megabyte when asked', async () => {
    const page = await open('small');
    const cell = page.locator('[data-file="1"] .code.ins');
    expect((await cell.textContent())!.length).to.be.below(3_000);
    await page.getByText('all 1,200,000 characters').click();
    await until('the line is there', async () => (await cell.textContent())!.length === 1_200_001);
    await page.close();
  });

  it('fits a telephone, and works without a script as far as rows come with the page', async () => {
    const narrow = await open('small', { viewport: { width: 390, height: 800 } });
    expect(await narrow.evaluate('document.documentElement.scrollWidth')).to.equal(390);
    await narrow.close();
    const plain = await open('long', { javaScriptEnabled: false });
    expect(await rows(plain)).to.be.above(200);
    expect(await plain.getByText('The whole patch as text').isVisible()).to.equal(true);
    expect(await plain.getByText('Wrap lines').isVisible()).to.equal(false);
    await plain.close();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has nothing that axe finds serious, and colours with contrast, in the ${colorScheme} theme`, async () => {
      for (const view of ['unified', 'split']) {
        const page = await open(`small?view=${view}`, { colorScheme });
        await page.locator('.row', { hasText: 'the end' }).locator('.code').first().click();
        await page.keyboard.press('C');
        const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
        await page.evaluate(axe);
        const { violations } = (await page.evaluate('axe.run()')) as {
          violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
        };
        const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
        expect(serious.map(({ id, nodes }) => [id, nodes[0]?.html, nodes[0]?.failureSummary])).to.deep.equal(
          [],
        );
        expect(await lowContrasts(page)).to.deep.equal([]);
        await page.close();
      }
    });
  }
});

describeWith(['chromium'], 'The change of a run in the browser', () => {
  let review: ReviewWorld;
  let browser: Browser;

  before(async () => {
    review = await makeReviewWorld();
    browser = await startChromium();
  });
  after(async () => {
    await browser?.close();
    await review?.close();
  });

  it('is rejected for its lines, and keeps what is written while others decide', async () => {
    const run = await review.planned();
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(await review.link('mira'));
    await page.getByRole('button', { name: 'Sign in as mira' }).click();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.goto(`${review.url}/runs/${run.run_id}`);
    await page.getByText('Show 4 lines of the header').click();
    await page.getByText('--- a/src/greet.js').waitFor();
    await page.getByText('Side by side').click();
    await page.locator('core-diff .row.both').first().waitFor();
    await page.locator('core-diff .row', { hasText: "name || 'stranger'" }).locator('.code.ins').click();
    await page.keyboard.press('C');
    await page.keyboard.type('say who');
    const [branch, patch] = run.actions.map(({ definition }) => definition);
    await review.world.agent.decide({
      run_id: run.run_id,
      decision: 'reject',
      actions: [{ action_id: branch!.action_id, digest: branch!.digest, seen_approval: 'required' }],
      reason: 'no',
      claimed_approver: null,
      anyway: false,
      by: { name: 'noor', scopes: ['approve'] },
    });
    await page.getByText('rejected by noor').waitFor();
    await page.getByText('Save the comment').click();
    await page.getByText('Put into the reason').click();
    const reason = page.locator(`[id="${patch!.action_id}-reason"]`);
    expect(await reason.inputValue()).to.equal('src/greet.js:2: say who');
    await page.getByRole('button', { name: /^Reject 2/ }).click();
    await until('the rejection is recorded', async () => {
      const { decision } = (await review.world.agent.run(run.run_id)).actions[1]!;
      return decision?.reason === 'src/greet.js:2: say who';
    });
    expect(problems).to.deep.equal([]);
    await page.close();
  });
});

/** Whether the middle of the window is covered by a row. */
async function rowInWindow(page: Page): Promise<boolean> {
  return (await page.evaluate(
    `document.elementsFromPoint(innerWidth / 2, innerHeight / 2).some((element) => element.closest('.row[data-row], .diff-name') !== null)`,
  )) as boolean;
}

async function topOf(page: Page, selector: string): Promise<number> {
  return (await page.evaluate(
    `Math.round(document.querySelector('.diff-file${selector}').getBoundingClientRect().top)`,
  )) as number;
}

/** Pairs of a colour of text and a ground it can stand on with a contrast below 4.5, as the page computes them. */
async function lowContrasts(page: Page): Promise<unknown> {
  return page.evaluate(`(() => {
    const diff = document.querySelector('core-diff');
    const probe = diff.appendChild(document.createElement('i'));
    const rgb = (name) => {
      probe.style.color = 'var(--' + name + ')';
      return getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
    };
    const light = (name) => {
      const [r, g, b] = rgb(name).map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, other) => {
      const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    const code = ['text', 'faint', 'odd', 'keyword', 'string', 'number', 'comment', 'title'];
    const grounds = ['ground', 'raised', 'added', 'removed', 'added-word', 'removed-word'];
    const pairs = [
      ...code.flatMap((text) => grounds.map((ground) => [text, ground])),
      ['added-sign', 'added'], ['removed-sign', 'removed'], ['accent', 'ground'], ['accent', 'raised'],
      ['added-sign', 'ground'], ['removed-sign', 'ground'], ['added-sign', 'raised'], ['removed-sign', 'raised'],
    ];
    const low = pairs.map(([text, ground]) => [text, ground, contrast(text, ground)]).filter(([, , value]) => !(value >= 4.5));
    probe.remove();
    return low;
  })()`);
}
