import type * as t from 'io-ts';
import { CoreError, codeOf, Unauthorized } from '#kit/errors.ts';
import { problemOf } from '#kit/http/problem.ts';
import {
  type FailedRequest,
  type Reply,
  type Route,
  type RouteFacts,
  type RouteRequest,
  route,
  routeWithForm,
  type StreamReply,
} from '#kit/http/route.ts';
import type { Identity, Scope } from '#kit/tokens/tokens.ts';
import { cookieText } from './cookie.ts';
import { checkCsrf, csrfToken } from './csrf.ts';
import { pageHeaders } from './headers.ts';
import { type Html, html } from './html.ts';
import { bareLayout, errorBody, layout, type OfferedProvider, signInBody, type Viewer } from './layout.ts';
import type { IdentityProvider } from './oidc/provider.ts';
import type { ReviewParts } from './review-parts.ts';

/** A request by somebody who is signed in. */
export interface Visit<B = unknown> extends Viewer {
  readonly request: RouteRequest<B>;
}

interface PageFacts {
  readonly path: string;
  readonly summary: string;
  readonly query?: NonNullable<RouteFacts['query']>;
}

/** @param kind a part is put into a page that is there already */
export function htmlReply(page: Html, status = 200, kind: 'page' | 'part' = 'page'): Reply {
  return {
    status,
    headers: pageHeaders,
    content: {
      type: 'text/html; charset=utf-8',
      bytes: `${kind === 'page' ? '<!doctype html>\n' : ''}${String(page)}`,
    },
  };
}

/** After a form, so that loading the page again does not send it again. */
export function goTo(path: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status: 303,
    headers: { ...pageHeaders, ...headers, Location: path },
    content: { type: 'text/plain', bytes: '' },
  };
}

/** A page, or part of one, for who is signed in and may read. */
export function pageRoute(
  parts: ReviewParts,
  facts: PageFacts,
  handle: (visit: Visit) => Promise<Reply | StreamReply>,
): Route {
  return route({ ...common(parts, facts), method: 'GET', scope: 'read' }, async (request) =>
    handle(visitOf(parts, request)),
  );
}

/** A form of a page, which carries the text of its session. */
export function formRoute<B extends { readonly csrf: string }>(
  parts: ReviewParts,
  facts: PageFacts & { readonly scope: Scope; readonly body: t.Type<B, unknown, unknown> },
  handle: (visit: Visit<B>) => Promise<Reply>,
): Route {
  return routeWithForm({ ...common(parts, facts), method: 'POST' }, async (request) => {
    const visit = visitOf(parts, request);
    checkCsrf(sessionOf(parts, request), request.body.csrf);
    return handle(visit);
  });
}

/** Facts that all routes of the page have, also those before signing in. */
export function common<F extends PageFacts>(parts: ReviewParts, facts: F) {
  return {
    ...facts,
    isPage: true,
    identify: (headers: RouteRequest['headers']) => identityOf(parts, headers),
    answers: { 200: { description: 'A page', content: 'text/html' } },
    errorReply: (error: unknown, request: FailedRequest) => errorPage(parts, error, request),
  };
}

/** Who has the session of these headers' cookie; null where nobody has. */
async function identityOf(
  { sessions, binding }: ReviewParts,
  headers: RouteRequest['headers'],
): Promise<Identity | null> {
  const text = cookieText('session', headers, binding);
  return text === null ? null : sessions.identity(text);
}

function visitOf<B>(parts: ReviewParts, request: RouteRequest<B>): Visit<B> {
  if (request.identity === null)
    throw new Unauthorized(
      'sign_in_required',
      'nobody is signed in in this browser, or the session has ended',
    );
  return { by: request.identity, csrf: csrfToken(sessionOf(parts, request)), request };
}

function sessionOf(parts: ReviewParts, { headers }: Pick<RouteRequest, 'headers'>): string {
  return cookieText('session', headers, parts.binding) ?? '';
}

const signInCodes: readonly string[] = ['sign_in_required', 'token_required'];

/** With the header of every page where somebody is signed in. */
function errorPage(parts: ReviewParts, error: unknown, request: FailedRequest): Reply {
  const { id, path, headers, identity: by } = request;
  const problem = problemOf(error, { path: '', id }, parts.redactor);
  if (error instanceof CoreError && signInCodes.includes(codeOf(error))) {
    const body = signInBody(offeredProvider(parts.provider, runIn(path)));
    return htmlReply(bareLayout('Sign in', body), problem.status);
  }
  const { title, status } = problem;
  if (by === null) return htmlReply(bareLayout(title, errorBody(problem)), status);
  const viewer = { by, csrf: csrfToken(sessionOf(parts, { headers })) };
  const body = html`<div class="narrow">${errorBody(problem)}</div>`;
  return htmlReply(layout(viewer, { title, kind: 'other', body }), status);
}

/** @param run whose page is shown after signing in; null for the list */
export function offeredProvider(provider: IdentityProvider, run: string | null): OfferedProvider | null {
  const { settings, problem } = provider;
  if (settings === null) return null;
  const query = run === null ? '' : `?${new URLSearchParams({ run })}`;
  return { name: settings.name, path: `${providerPath}${query}`, problem };
}

/** Where signing in at the identity provider begins. */
export const providerPath = '/sign-in/provider';

/** The page of a run, or the list: nothing that a request names leads anywhere else. */
export function pagePath(run: string | null): string {
  return run !== null && runId.test(run) ? `/runs/${run}` : '/';
}

const runId = /^run_[0-9a-f-]{36}$/;

/** The run whose page this path is; null where it is of none. */
function runIn(path: string): string | null {
  const run = path.split('/')[2] ?? '';
  return path.startsWith('/runs/') && runId.test(run) ? run : null;
}
