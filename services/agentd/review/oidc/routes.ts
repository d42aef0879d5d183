import type { IncomingHttpHeaders } from 'node:http';
import { codeOf, Forbidden, messageOf, NotFound, Unauthorized } from '#kit/errors.ts';
import { type Reply, type Route, route } from '#kit/http/route.ts';
import { cookieText, setCookie } from '../cookie.ts';
import { html } from '../html.ts';
import { bareLayout, notice } from '../layout.ts';
import { common, goTo, htmlReply, pagePath, providerPath } from '../page.ts';
import type { ReviewParts } from '../review-parts.ts';
import { sessionDigest } from '../session.ts';
import { shownLine } from '../visible-text.ts';
import { SignInAttempts } from './attempts.ts';
import { scopesOf } from './claims.ts';
import type { OidcSettings } from './configuration.ts';
import { callbackPath, type IdentityProvider, type SignedInPerson } from './provider.ts';

const maxShownGroups = 50;

/**
 * Signing in at the identity provider, by OpenID Connect: authorization code with PKCE, state and nonce. Every address comes from the
 * configuration, none from a request.
 */
export function providerRoutes(parts: ReviewParts): Route[] {
  const { sessions, signIns, provider, binding } = parts;
  const attempts = new SignInAttempts(signIns);
  return [
    // No form: browsers let none lead to another site here, also not by a redirect.
    route(
      {
        ...common(parts, { path: providerPath, summary: 'Sign in at the identity provider' }),
        method: 'GET',
        scope: null,
        query: {
          run: { description: 'The run to show then', schema: { type: 'string' } },
          moved: {
            description: 'That the browser was sent to the configured address',
            schema: { type: 'string' },
          },
        },
      },
      async ({ query: { run, moved }, headers }) => {
        const settings = configured(provider);
        if (isElsewhere(headers, settings)) return toAddress(settings, run, moved, headers);
        const { issuer, client_id } = settings;
        const had = cookieText('provider', headers, binding);
        const before = sessionDigest(cookieText('session', headers, binding));
        const { attempt, state, browser } = await attempts.begin(
          { run: run ?? null, before, issuer, client_id },
          had,
        );
        const location = await provider.address(settings, attempt, state);
        return goTo(location, {
          'Set-Cookie': setCookie('provider', browser, headers, binding),
          'Referrer-Policy': 'no-referrer',
        });
      },
    ),
    route(
      {
        ...common(parts, { path: callbackPath, summary: 'Back from the identity provider' }),
        method: 'GET',
        scope: null,
        query: { state: { description: 'Of the sign-in', schema: { type: 'string' } } },
        // Providers add what they like; what counts is read from the query as it came.
        anyQuery: true,
      },
      async ({ query: { state = '' }, headers, search, log }) => {
        const settings = configured(provider);
        const attempt = await attempts.end(state, cookieText('provider', headers, binding));
        if (
          attempt === null ||
          attempt.issuer !== settings.issuer ||
          attempt.client_id !== settings.client_id
        )
          throw notBegun();
        const person = await provider.person(settings, attempt, state, search).catch((error) => {
          log.warn(`nobody was signed in by the identity provider: ${messageOf(error)}`, {
            code: codeOf(error),
          });
          throw error;
        });
        const { account, shown } = person;
        if (provider.isRevoked(account))
          throw new Forbidden(
            'account_revoked',
            `${shown} may not sign in: the account ${account.subject} of ${account.issuer} is in revoked_accounts of policy.json`,
          );
        const allowed = Object.keys(settings.groups);
        const groups = person.groups.filter((group) => allowed.includes(group));
        if (scopesOf(groups, settings).length === 0) {
          log.info('an account without a group of oidc.json was not signed in', { account });
          return groupsMissing(person, settings);
        }
        const owner = { kind: 'account' as const, account, shown, groups };
        const seconds = settings.session_minutes * 60;
        const text = await sessions.begin(owner, seconds * 1000, attempt.before);
        log.info('an account was signed in', { account, groups });
        return arrived(pagePath(attempt.run), setCookie('session', text, headers, binding, seconds));
      },
    ),
  ];
}

/**
 * The browser comes from another site, and would not send the new cookie with a redirect. So a page of ours sends it on: that is a
 * step within this site.
 */
function arrived(path: string, cookie: string): Reply {
  const page = htmlReply(
    bareLayout('Signed in', html`<h1>Signed in</h1><p><a href="${path}">Go on</a></p>`, { goOn: path }),
  );
  return { ...page, headers: { ...page.headers, 'Set-Cookie': cookie, 'Referrer-Policy': 'no-referrer' } };
}

function groupsMissing({ shown, groups }: SignedInPerson, settings: OidcSettings): Reply {
  const listed = (names: readonly string[]) =>
    html`<ul>${names.slice(0, maxShownGroups).map((name) => html`<li><code>${shownLine(name)}</code></li>`)}</ul>
${names.length > maxShownGroups ? html`<p>and ${names.length - maxShownGroups} more</p>` : ''}`;
  const body = html`<h1>No group</h1>
${notice({ tone: 'bad', text: `${settings.name} signed you in as ${shown}, and none of your groups may use Core.` })}
<h2>Your groups, by the claim ${settings.groups_claim}</h2>
${groups.length === 0 ? html`<p>none</p>` : listed(groups)}
<h2>Any one of these would do</h2>
${listed(Object.keys(settings.groups))}`;
  return htmlReply(bareLayout('No group', body), 403);
}

function configured(provider: IdentityProvider): OidcSettings {
  const { settings } = provider;
  if (settings !== null) return settings;
  throw new NotFound('identity_provider_missing', 'no identity provider is configured here', {
    hint: 'A link of ./core review signs in; issuer of oidc.json names a provider.',
  });
}

/** Cookies hold for one host: the sign-in begins at the one to which the provider sends the browser back. */
function isElsewhere({ host }: IncomingHttpHeaders, { address }: OidcSettings): boolean {
  const { host: expected, protocol } = new URL(address);
  return host === undefined || new URL(`${protocol}//${host}`).host !== expected;
}

function toAddress(
  settings: OidcSettings,
  run: string | undefined,
  moved: string | undefined,
  { host }: IncomingHttpHeaders,
): Reply {
  const { address } = settings;
  if (moved !== undefined)
    throw new Unauthorized(
      'address_unlike',
      `browsers that were sent to ${address} arrive at ${host}: a proxy in front must pass on the Host header as it came`,
      { hint: 'Correct the proxy, or address of oidc.json.' },
    );
  const query = new URLSearchParams({ ...(run === undefined ? {} : { run }), moved: 'yes' });
  return goTo(`${address}${providerPath}?${query}`);
}

function notBegun(): Unauthorized {
  return new Unauthorized(
    'sign_in_unknown',
    'this sign-in was not begun in this browser, is over already, or took longer than ten minutes',
    { hint: 'Sign in again.' },
  );
}
