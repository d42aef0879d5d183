import type { Problem } from '#kit/contracts/problem.ts';
import { shownName } from '#kit/identity-name.ts';
import type { Identity } from '#kit/tokens/tokens.ts';
import { assetIntegrity, assetPath } from './assets.ts';
import { csrfField } from './csrf.ts';
import { type Html, html, nothing } from './html.ts';
import { keysDialog } from './keys.ts';
import { shownLine } from './visible-text.ts';

/** What stands around every page. */

const htmxConfig = JSON.stringify({
  includeIndicatorCSS: false,
  history: false,
  extensions: 'none',
  // What a person opened stays open.
  morphIgnore: ['data-htmx-powered', 'open'],
});

interface PageParts {
  readonly title: string;
  readonly body: Html;
  /** Where changes of what the page shows are announced. */
  readonly live?: string;
  /** Which keys hold here. */
  readonly kind: 'list' | 'run' | 'other';
}

/** Who looks at a page, with the text of their session for its forms. */
export interface Viewer {
  readonly by: Identity;
  readonly csrf: string;
}

export function layout({ by, csrf }: Viewer, { title, body, live, kind }: PageParts): Html {
  return html`<html lang="en">
${head(title)}
<body data-page="${kind}" ${live === undefined ? '' : html`data-live="${live}"`}>
<a class="skip" href="#page">Skip to the page</a>
<header class="top">
  <a class="brand" href="/"><span aria-hidden="true">✓</span> Core</a>
  <a class="inbox" href="/inbox">Inbox<span class="count" id="inbox-count"></span></a>
  <span class="live" id="live" role="status"></span>
  <span class="grow"></span>
  <button type="button" class="quiet keys-button" data-keys aria-keyshortcuts="?">Keys <kbd>?</kbd></button>
  <span class="who" title="${by.providerAccount === undefined ? 'The token ' : ''}${by.name}, with the scopes ${by.scopes.join(', ')}">${shownName(by.name)}</span>
  <form method="post" action="/sign-out">${csrfField(csrf)}<button class="quiet">Sign out</button></form>
</header>
<main id="page" tabindex="-1">
${body}
</main>
${keysDialog(kind)}
</body>
</html>`;
}

/** Before anybody is signed in. @param goOn where the browser goes by itself */
export function bareLayout(title: string, body: Html, { goOn }: { readonly goOn?: string } = {}): Html {
  return html`<html lang="en">
${head(title, goOn === undefined ? nothing : html`<meta http-equiv="refresh" content="0; url=${goOn}">`)}
<body data-page="other">
<header class="top"><span class="brand"><span aria-hidden="true">✓</span> Core</span></header>
<main id="page" class="narrow" tabindex="-1">
${body}
</main>
</body>
</html>`;
}

function head(title: string, more: Html = nothing): Html {
  return html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="htmx-config" content="${htmxConfig}">
${more}
<title>${title} · Core</title>
<link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetPath('review.css')}" integrity="${assetIntegrity('review.css')}">
<link rel="stylesheet" href="${assetPath('diff.css')}" integrity="${assetIntegrity('diff.css')}">
<script src="${assetPath('htmx.js')}" integrity="${assetIntegrity('htmx.js')}" defer></script>
<script src="${assetPath('review.js')}" integrity="${assetIntegrity('review.js')}" type="module"></script>
<script src="${assetPath('diff.js')}" integrity="${assetIntegrity('diff.js')}" type="module"></script>
</head>`;
}

/** The provider that the page offers at sign-in. */
export interface OfferedProvider {
  readonly name: string;
  /** Where signing in begins. */
  readonly path: string;
  /** Why it did not answer when it was asked last; null where it did. */
  readonly problem: string | null;
}

/** The container reaches the daemon by another name than the browser. */
export const inContainers = html`<p class="faint">Where Core runs in containers, type <code>docker compose run --rm tools core-agentd review --address ADDRESS</code> with the address of this page, and open the link that it prints.</p>`;

export function signInBody(provider: OfferedProvider | null): Html {
  return html`<h1>Sign in</h1>
<p>Nobody is signed in in this browser, or the session has ended.</p>
${
  provider === null
    ? ''
    : html`${provider.problem === null ? '' : notice({ tone: 'warn', text: provider.problem, hint: 'The link below signs in without it.' })}
<p><a class="button primary" href="${provider.path}">Sign in with ${shownLine(provider.name)}</a></p>
`
}
<p>${provider === null ? 'In' : 'Or, in'} a terminal, type</p>
<pre class="command">./core review</pre>
<p>It opens this page with a link that signs you in once. Nothing else needs to be typed.</p>
${inContainers}`;
}

export function errorBody({ status, title, detail, hint, code, request_id }: Problem): Html {
  return html`<h1>${title}</h1>
${notice({ tone: 'bad', text: detail ?? title, ...(hint === undefined ? {} : { hint }) })}
<p><a href="/">Back to the runs</a></p>
<p class="faint">${status} · ${code} · request ${request_id}</p>`;
}

export interface Notice {
  readonly tone: 'bad' | 'warn' | 'good';
  readonly text: string;
  readonly hint?: string;
}

/** Reported to screen readers as well. */
export function notice({ tone, text, hint }: Notice): Html {
  return html`<div class="notice ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">
<p>${shownLine(text)}</p>
${hint === undefined ? '' : html`<p class="faint">${shownLine(hint)}</p>`}
</div>`;
}
