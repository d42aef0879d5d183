import MarkdownIt, { type Token } from 'markdown-it';
import { type Html, html, raw } from './html.ts';
import { plainLine, shownText } from './visible-text.ts';

/**
 * Markdown of issues and models. HTML in it is text; a picture is its address and is not loaded; a heading is bold text, so that it
 * cannot pass for one of the page; and a link names its host where its text does not.
 */

/** Characters; a longer text is shown as it is. */
const maxLength = 200_000;

const parser = new MarkdownIt({ html: false, linkify: true, typographer: false, breaks: true });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.validateLink = isWebAddress;

const { rules } = parser.renderer;
rules.text = (tokens, at) => String(shownText(tokens[at]!.content));
rules.code_inline = (tokens, at) => `<code>${shownText(tokens[at]!.content)}</code>`;
rules.code_block = rules.fence = (tokens, at) =>
  `<pre tabindex="0"><code>${shownText(tokens[at]!.content)}</code></pre>\n`;
rules.heading_open = () => '<p class="md-heading"><strong>';
rules.heading_close = () => '</strong></p>\n';
rules.image = (tokens, at) => {
  const { content } = tokens[at]!;
  const address = attribute(tokens[at], 'src');
  return String(
    html`<span class="md-image">picture, not loaded: ${shownText(content)} ${plainLine(address)}</span>`,
  );
};
rules.link_open = (tokens, at) => {
  const address = attribute(tokens[at], 'href');
  const host = hostOf(address);
  return String(
    html`<a href="${address}" rel="noopener noreferrer nofollow" target="_blank" data-host="${plainLine(host)}">`,
  );
};
rules.link_close = (tokens, at) => {
  const open = tokens.slice(0, at).findLast(({ type }) => type === 'link_open');
  const inner = tokens.slice(tokens.indexOf(open!) + 1, at).map(({ content }) => content);
  const host = hostOf(attribute(open, 'href'));
  if (startsWithHost(inner.join(''), host)) return '</a>';
  return String(html`</a> <span class="md-host">(${plainLine(host)})</span>`);
};
rules.table_open = () => '<div class="md-table" tabindex="0"><table>\n';
// Its alignment would be an inline style.
rules.th_open = () => '<th>';
rules.td_open = () => '<td>';
rules.table_close = () => '</table></div>\n';

export function markdown(text: string): Html {
  if (text.trim() === '') return html`<p class="empty">No text.</p>`;
  if (text.length > maxLength) return html`<pre class="text" tabindex="0">${shownText(text)}</pre>`;
  return html`<div class="md">${raw(parser.render(text))}</div>`;
}

function isWebAddress(address: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(address.trim()) && URL.canParse(address.trim());
}

function attribute(token: Token | undefined, name: string): string {
  return String(token?.attrGet(name) ?? '');
}

/** A host elsewhere in a text may be part of the name of another: `hub.com` is in `github.com`. */
function startsWithHost(text: string, host: string): boolean {
  const [start] = text
    .toLowerCase()
    .replace(/^(https?:\/\/|mailto:)/, '')
    .split(/[/?#]/);
  return start === host.toLowerCase();
}

function hostOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  return url.protocol === 'mailto:' ? url.pathname : url.host;
}
