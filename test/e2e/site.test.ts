import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { pagesThere, sidebarOf } from '../../site/.vitepress/sidebar.ts';
import { version } from '../../site/.vitepress/source.ts';
import { describeWith } from '../needs.ts';
import { type Browser, openBrowser } from './site-browser.ts';
import { builtSite, serveSite, siteFolder } from './site-build.ts';

const dist = join(siteFolder, '.vitepress/dist');

describeWith(['site'], 'the documentation site', function () {
  this.timeout(400_000);
  before(async () => {
    const { exitCode, stdout, stderr } = await builtSite();
    expect(exitCode, stdout + stderr).to.equal(0);
  });

  it('has no link that leads nowhere, on no page', () => {
    const pages = new Map(
      globSync('**/*.html', { cwd: dist }).map((page) => [page, readFileSync(join(dist, page), 'utf8')]),
    );
    expect(pages.size).to.be.greaterThan(25);
    const dead: string[] = [];
    let checked = 0;
    for (const [page, html] of pages) {
      for (const [, href] of html.matchAll(/<a\b[^>]*\bhref="([^"]+)"/g)) {
        const problem = deadLink(page, href!, pages);
        if (problem !== null) dead.push(`${page}: ${href} ${problem}`);
        checked++;
      }
    }
    expect(dead).to.deep.equal([]);
    expect(checked).to.be.greaterThan(1_000);
  });

  it('has an anchor for every error code', () => {
    const codes = [...readFileSync(join(siteFolder, 'errors.md'), 'utf8').matchAll(/^\| `([a-z_]+)` \|/gm)];
    const page = readFileSync(join(dist, 'errors.html'), 'utf8');
    expect(codes.length).to.be.greaterThan(100);
    for (const [, code] of codes) expect(page).to.contain(`<tr id="${code}"`);
  });

  it('shows code as it stands, templates of others included', () => {
    const concepts = readFileSync(join(dist, 'concepts.html'), 'utf8');
    expect(concepts).to.contain('<code>{{validation}}</code>');
    const empty = globSync('**/*.html', { cwd: dist }).filter((page) =>
      /<code[^>]*>\s*<\/code>/.test(readFileSync(join(dist, page), 'utf8')),
    );
    expect(empty).to.deep.equal([]);
  });

  it('loads nothing from another host', () => {
    const loaded = globSync('**/*.{html,css}', { cwd: dist }).flatMap((file) => {
      const text = readFileSync(join(dist, file), 'utf8');
      const places =
        /(?:<(?:script|img|iframe|source)\b[^>]*\bsrc=|<link\b[^>]*\bhref=|url\()["']?((?:https?:)?\/\/[^"')\s]+)/g;
      return [...text.matchAll(places)].map(([, address]) => `${file}: ${address}`);
    });
    expect(loaded).to.deep.equal([]);
  });

  it('has every page in its sidebar, and in the sidebar nothing else', () => {
    const there = pagesThere();
    const listed = sidebarOf(there).flatMap(({ items }) => items.map(({ link }) => link.slice(1)));
    expect(listed.toSorted()).to.deep.equal(there);
    expect(sidebarOf(['concepts', 'new-page'])).to.deep.equal([
      { text: 'Begin', items: [{ text: 'Concepts', link: '/concepts' }] },
      { text: 'More', items: [{ text: 'New page', link: '/new-page' }] },
    ]);
  });

  describeWith(['chromium'], 'in a browser', () => {
    let browser: Browser;
    let site: Awaited<ReturnType<typeof serveSite>>;
    before(async () => {
      [browser, site] = await Promise.all([openBrowser(), serveSite()]);
    });
    after(async () => {
      await browser?.close();
      site?.close();
    });

    for (const page of [
      '',
      'guide-github.html',
      'reference/core-agentd.html',
      'reference/settings.html',
      'errors.html',
      'figures.html',
      'comparison.html',
    ]) {
      for (const width of [1280, 390]) {
        it(`shows /${page} at ${width} pixels, without a script's complaint and not wider than the window`, async () => {
          await browser.show(`${site.url}/${page}`, { width });
          expect(await browser.evaluate('document.documentElement.scrollWidth')).to.equal(width);
          expect(browser.problems()).to.deep.equal([]);
          const clipped =
            "[...document.querySelectorAll('.vp-doc table')].filter((table) => table.scrollWidth > table.clientWidth).length";
          expect(await browser.evaluate(clipped), 'tables wider than the text').to.equal(0);
          const elsewhere = browser
            .requests()
            .filter((url) => !url.startsWith(site.url) && !url.startsWith('data:'));
          expect(elsewhere).to.deep.equal([]);
          const picture = await browser.screenshot();
          expect(picture.subarray(1, 4).toString()).to.equal('PNG');
          expect(picture.length).to.be.greaterThan(10_000);
        });
      }
    }

    it('is dark where the reader prefers it', async () => {
      const background = 'getComputedStyle(document.body).backgroundColor';
      await browser.show(`${site.url}/concepts.html`, { width: 1280 });
      const light = await browser.evaluate(background);
      await browser.show(`${site.url}/concepts.html`, { width: 1280, dark: true });
      expect(await browser.evaluate("document.documentElement.classList.contains('dark')")).to.equal(true);
      expect(await browser.evaluate(background)).to.not.equal(light);
    });

    it('finds a word of a page by its own search', async () => {
      expect((await found('digest_mismatch'))[0]).to.match(/^\/[a-z/-]+\.html/);
      expect(browser.problems()).to.deep.equal([]);
    });

    it('ranks guides before the reference', async () => {
      for (const word of ['github token', 'backup', 'docker']) {
        const pages = (await found(word)).map((link) => link.replace(/#.*/, ''));
        const reference = pages.findIndex((page) => /^\/(reference|errors|configuration)/.test(page));
        expect(pages[0], pages.join(' ')).to.match(/^\/(guide-|backup|docker|getting-started)/);
        expect(reference === -1 || reference > 2, pages.join(' ')).to.equal(true);
      }
    });

    it('ranks the page about a subject before the pages about its details', async () => {
      expect((await found('sandbox'))[0]).to.match(/^\/validation-and-sandbox\.html/);
    });

    it('shows the version, which leads to the changes', async () => {
      await browser.show(`${site.url}/`, { width: 1280 });
      const links =
        "[...document.querySelectorAll('.VPNavBarMenu a')].map((a) => [a.textContent.trim(), a.getAttribute('href')])";
      expect(await browser.evaluate(links)).to.deep.include([version, '/reference/changes.html']);
    });

    it('holds the recording on its home page still where the reader says so', async () => {
      await browser.show(`${site.url}/`, { width: 1280 });
      const content = "getComputedStyle(document.querySelector('.core-film img')).content";
      expect(await browser.evaluate(content)).to.equal('normal');
      await browser.evaluate("document.querySelector('.core-film input').click()");
      expect(await browser.evaluate(content)).to.contain('/plan.svg');
    });

    /** Addresses of what the search finds, best first. */
    async function found(words: string): Promise<string[]> {
      await browser.show(`${site.url}/concepts.html`, { width: 1280 });
      return browser.evaluate(`(async () => {
        const until = async (look) => { for (;;) { const seen = look(); if (seen) return seen; await new Promise((next) => setTimeout(next, 30)); } };
        document.querySelector('.VPNavBarSearchButton, .DocSearch-Button, #local-search button, .VPNavBarSearch button').click();
        const input = await until(() => document.querySelector('.VPLocalSearchBox input'));
        input.value = '${words}';
        input.dispatchEvent(new Event('input', { bubbles: true }));
        await until(() => document.querySelector('.VPLocalSearchBox .result'));
        return [...document.querySelectorAll('.VPLocalSearchBox .result')].map((result) => result.getAttribute('href'));
      })()`);
    }
  });
});

/** Why a link leads nowhere; null where it leads somewhere, or to another host. */
function deadLink(page: string, href: string, pages: ReadonlyMap<string, string>): string | null {
  if (/^(https?:|mailto:)/.test(href)) return null;
  const [path = '', anchor = ''] = href.split('#');
  const target =
    path === '' ? page : path.startsWith('/') ? path.slice(1) : normalize(join(dirname(page), path));
  const file = target === '' || target.endsWith('/') ? `${target}index.html` : target;
  if (!existsSync(join(dist, file))) return 'is not there';
  const html = pages.get(file);
  if (anchor === '' || html === undefined) return null;
  return html.includes(`id="${decodeURIComponent(anchor)}"`) ? null : 'has no such anchor';
}
