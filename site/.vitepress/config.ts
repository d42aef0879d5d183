import { defineConfig } from 'vitepress';
import { anchorCodes } from './anchor-codes.ts';
import { pagesThere, sidebarOf } from './sidebar.ts';

/** Characters of code that stay on one line in the first column of a table. */
const longCode = 26;

/** A path or a list may go on in the next line after each of its parts. */
function breakable(html: string): string {
  return html.length > longCode ? html.replaceAll(/(?<=[\w}])[/,](?=[\w{])/g, '$&<wbr>') : html;
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
      // Code is shown as it stands: `{{slot}}` is no template of ours.
      md.renderer.rules.code_inline = (tokens, index, _, __, renderer) => {
        const token = tokens[index]!;
        if (token.content.length > longCode) token.attrJoin('class', 'long');
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
    ],
    sidebar: sidebarOf(pagesThere()) as never,
    outline: { level: [2, 3], label: 'On this page' },
    search: { provider: 'local', options: { detailedView: true } },
    docFooter: { prev: 'Before', next: 'Next' },
    externalLinkIcon: false,
  },
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
});
