import { defineConfig } from 'vitepress';
import { anchorCodes } from './anchor-codes.ts';
import { pagesThere, sidebarOf } from './sidebar.ts';
import { sourceLinks, version } from './source.ts';
import { labelCells } from './table-labels.ts';

const source = sourceLinks();

/** Characters of code that stay on one line in the first column of a table. */
const longCode = 26;

/** A path or a list may go on in the next line after each of its parts. */
function breakable(html: string): string {
  return html.length > longCode
    ? html.replaceAll(/(?<=[\w}\]]|&quot;)[/,.](?=[\w{]|&quot;)/g, '$&<wbr>')
    : html;
}

// biome-ignore lint/style/noDefaultExport: VitePress reads the default export
export default defineConfig({
  title: 'Core',
  description: 'From an issue to a pull request that a person approved action by action.',
  lang: 'en',
  srcExclude: ['generate/**'],
  cleanUrls: false,
  lastUpdated: false,
  appearance: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/mark.svg' }]],
  markdown: {
    theme: { light: 'github-light', dark: 'github-dark' },
    headers: { level: [2, 3] },
    config(md) {
      // A link is what is written as one; an address in a sentence may be anybody's.
      md.set({ linkify: false });
      anchorCodes(md);
      labelCells(md);
      // Code is shown as it stands: `{{slot}}` is no template of ours.
      md.renderer.rules.code_inline = (tokens, index, _, __, renderer) => {
        const token = tokens[index]!;
        if (token.content.length > longCode) token.attrJoin('class', 'long');
        if (/[^/,.\s]{41}/.test(token.content)) token.attrJoin('class', 'unbroken');
        return `<code v-pre${renderer.renderAttrs(token)}>${breakable(md.utils.escapeHtml(token.content))}</code>`;
      };
    },
  },
  themeConfig: {
    logo: '/mark.svg',
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Commands', link: '/reference/commands' },
      { text: 'Errors', link: '/errors' },
      { text: version, link: '/reference/changes' },
    ],
    ...(source === null
      ? {}
      : {
          editLink: { pattern: source.editPattern, text: 'Edit this page' },
          socialLinks: [
            {
              icon: new URL(source.repository).hostname === 'github.com' ? 'github' : 'git',
              link: source.repository,
              ariaLabel: 'Source code',
            },
          ],
        }),
    sidebar: sidebarOf(pagesThere()) as never,
    outline: { level: [2, 3], label: 'On this page' },
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        miniSearch: {
          searchOptions: {
            // Guides first, then pages about a whole subject, then details, then reference. It runs in the browser and sees nothing of this file.
            boostDocument: (page) => {
              if (
                /^\/(guide-|getting-started|what-it-is|concepts|running|docker|terminal|bridge\.|schedules|backup|upgrade|validation-and-sandbox)/.test(
                  page,
                )
              )
                return 2;
              if (/^\/(agents|planners|recovery|context|models|forges|bus|mcp|security)\./.test(page))
                return 1.5;
              return /^\/(reference\/|errors|configuration|commands|http-api|status)/.test(page) ? 0.5 : 1;
            },
          },
        },
      },
    },
    docFooter: { prev: 'Previous', next: 'Next' },
    externalLinkIcon: false,
  },
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
});
