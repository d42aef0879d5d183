import * as t from 'io-ts';
import { optional } from '#kit/decode.ts';
import { Unauthorized } from '#kit/errors.ts';
import { type Route, route, routeWithForm } from '#kit/http/route.ts';
import { ComparedText, withoutSecrets } from '#kit/redaction/masked-text.ts';
import { cookieText, setCookie } from './cookie.ts';
import { html } from './html.ts';
import { bareLayout, inContainers } from './layout.ts';
import { common, formRoute, goTo, htmlReply, offeredProvider, pagePath } from './page.ts';
import type { ReviewParts } from './review-parts.ts';
import { sessionMs } from './session.ts';

const SignInForm = t.strict({ code: ComparedText, run: optional(withoutSecrets(t.string)) });
const SignOutForm = t.strict({ csrf: ComparedText });

/**
 * A link leads to a page with one button, and the button signs in: nobody is signed in as somebody else by following one. The link
 * belongs to the browser that opens it first.
 */
export function signInRoutes(parts: ReviewParts): Route[] {
  const { sessions, binding, provider } = parts;
  return [
    route(
      {
        ...common(parts, { path: '/sign-in', summary: 'Who a link signs in' }),
        method: 'GET',
        scope: null,
        query: {
          code: { description: 'Of the link', schema: { type: 'string' } },
          run: { description: 'The run to show then', schema: { type: 'string' } },
        },
      },
      async ({ query: { code = '', run }, headers }) => {
        const opened = await sessions.openLink(code, cookieText('link', headers, binding));
        if (opened === null) throw expired();
        const { identity, browser } = opened;
        const page = htmlReply(
          bareLayout(
            'Sign in',
            html`<h1>Sign in</h1>
<p>This link signs this browser in to Core as <strong>${identity.name}</strong>, for 12 hours.</p>
<form method="post" action="/sign-in" class="stack">
<input type="hidden" name="code" value="${code}">
${run === undefined ? '' : html`<input type="hidden" name="run" value="${run}">`}
<button class="primary" autofocus>Sign in as ${identity.name}</button>
</form>
<p class="faint">Scopes: ${identity.scopes.join(', ')}</p>`,
          ),
        );
        const cookie = { 'Set-Cookie': setCookie('link', browser, headers, binding) };
        return { ...page, headers: { ...page.headers, ...cookie } };
      },
    ),
    routeWithForm(
      {
        ...common(parts, { path: '/sign-in', summary: 'Sign in with the code of a link' }),
        method: 'POST',
        scope: null,
        body: SignInForm,
      },
      async ({ body: { code, run = '' }, headers }) => {
        const before = cookieText('session', headers, binding);
        const text = await sessions.signIn(code, cookieText('link', headers, binding), before);
        if (text === null) throw expired();
        const cookie = setCookie('session', text, headers, binding, sessionMs / 1000);
        return goTo(pagePath(run), { 'Set-Cookie': cookie });
      },
    ),
    formRoute(
      parts,
      { path: '/sign-out', summary: 'Sign out', scope: 'read', body: SignOutForm },
      async ({ by, request: { headers } }) => {
        await sessions.end(cookieText('session', headers, binding) ?? '');
        return goTo(by.providerAccount === undefined ? '/signed-out' : '/signed-out?of=provider', {
          'Set-Cookie': setCookie('session', null, headers, binding),
        });
      },
    ),
    route(
      {
        ...common(parts, { path: '/signed-out', summary: 'After signing out' }),
        method: 'GET',
        scope: null,
        query: {
          of: { description: '`provider` for whoever signed in by one', schema: { type: 'string' } },
        },
        // A provider that sends a browser back here may add its own.
        anyQuery: true,
      },
      async ({ query: { of } }) => {
        const { settings } = provider;
        const offered = offeredProvider(provider, null);
        const there = of === 'provider' && settings !== null ? await provider.signOutAddress(settings) : null;
        return htmlReply(
          bareLayout(
            'Signed out',
            html`<h1>Signed out</h1>
<p>This browser is signed out of Core.</p>
${there === null ? '' : html`<p>At ${settings!.name} you may be signed in still. <a href="${there}" rel="noreferrer">Sign out there too</a></p>`}
${offered === null ? '' : html`<p><a class="button" href="${offered.path}">Sign in with ${offered.name}</a></p>`}
<p>To sign in again by a link, type</p>
<pre class="command">./core review</pre>
${inContainers}`,
          ),
        );
      },
    ),
  ];
}

function expired(): Unauthorized {
  return new Unauthorized(
    'link_expired',
    'this link was used already or opened in another browser, or is older than five minutes',
    {
      hint: './core review makes a new one.',
    },
  );
}
