import type { Browser, Page } from 'playwright-core';
import { startChromium } from '../fixtures/chromium.ts';
import { serveDiffs } from '../fixtures/review/diff-server.ts';
import { longPatch } from '../fixtures/review/long-patch.ts';
import { type Benchmark, compare, takeTurns } from './comparison.ts';

const lines = 50_000;
const frames = 60;
const pixelsAFrame = 200;

/** Needs Chromium. */
export const review: Benchmark = {
  summary: `time of ${frames} frames while ${lines.toLocaleString('en')} lines of a diff are scrolled through in Chromium`,
  async run() {
    const server = await serveDiffs({ long: longPatch(lines, 50) });
    const browser = await startChromium();
    try {
      const unified = await open(browser, `${server.url}/long`);
      const split = await open(browser, `${server.url}/long?view=split`);
      const height = await unified.evaluate('document.documentElement.scrollHeight');
      const empty = await open(browser, `${server.url}/empty?height=${height}`);
      const samples = await takeTurns(7, {
        unified: (round) => scroll(unified, round),
        split: (round) => scroll(split, round),
        empty: (round) => scroll(empty, round),
      });
      const yardstick = 'an empty page of the same height';
      return [
        compare(
          { subject: 'one column', yardstick, measure: 'time', bar: 1.5 },
          samples.unified,
          samples.empty,
        ),
        compare(
          { subject: 'two columns', yardstick, measure: 'time', bar: 1.5 },
          samples.split,
          samples.empty,
        ),
      ];
    } finally {
      await browser.close();
      await server.close();
    }
  },
};

async function open(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  await page.goto(url);
  return page;
}

/** Milliseconds for the frames, each at another place, from a beginning that is another in each round. */
async function scroll(page: Page, round: number): Promise<number> {
  await page.bringToFront();
  return (await page.evaluate(`(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    scrollTo(0, ${round * frames * pixelsAFrame});
    for (let warm = 0; warm < 5; warm++) await frame();
    const before = performance.now();
    for (let count = 0; count < ${frames}; count++) {
      scrollBy(0, ${pixelsAFrame});
      await frame();
    }
    return performance.now() - before;
  })()`)) as number;
}
