import {
  EndedSessions,
  type ReviewSession,
  ReviewSessions,
  SignInLink,
  SignInLinkBody,
} from '#kit/contracts/review.ts';
import { Forbidden } from '#kit/errors.ts';
import { type Route, route, routeWithBody } from '#kit/http/route.ts';
import type { Person } from '../agent.ts';
import type { CoreAgent } from '../core-agent.ts';
import { type OpenSession, type Sessions, sessionNotFound } from '../review/session.ts';
import { requireToken } from './query.ts';
import { person } from './write-routes.ts';

/** How a command line signs a browser in to the review page, and out of it. */
export function reviewLinkRoutes(agent: CoreAgent, sessions: Sessions): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/review/links',
        summary:
          'A link that signs a browser in to the review page once, as the one whose token this is. Needs a token always',
        scope: 'read',
        body: SignInLinkBody,
        bodyOptional: true,
        answers: { 201: { description: 'The link, good for five minutes', content: SignInLink } },
      },
      async ({ body, identity }) => {
        requireToken(identity);
        const run = body.run === undefined ? null : await agent.run(body.run);
        const { code, expires_at } = await sessions.link(sessions.ownerOf(person(identity)));
        const query = new URLSearchParams({ code, ...(run === null ? {} : { run: run.run_id }) });
        const json: SignInLink = { path: `/sign-in?${query}`, expires_at };
        return { status: 201, json };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/review/sessions',
        summary:
          'The browsers that are signed in to the review page: those of this token, with the scope admin everybody’s. Needs a token always',
        scope: 'read',
        answers: { 200: { description: 'The oldest first', content: ReviewSessions } },
      },
      async ({ identity }) => {
        requireToken(identity);
        const json: ReviewSessions = { sessions: (await within(person(identity))).map(shown) };
        return { json };
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/v1/review/sessions',
        summary:
          'Signs out every browser that this token signed in to the review page, or with the scope admin those of somebody else. Needs a token always',
        scope: 'read',
        query: {
          of: {
            description: 'Name of a token or an account; default that of this token',
            schema: { type: 'string' },
          },
        },
        answers: { 200: { description: 'How many', content: EndedSessions } },
      },
      async ({ identity, query: { of } }) => {
        requireToken(identity);
        const { name, scopes } = person(identity);
        if (of !== undefined && of !== name && !scopes.includes('admin'))
          throw new Forbidden(
            'scope_missing',
            `token ${name} has the scopes ${scopes.join(', ')}; ending the sessions of ${of} needs admin`,
          );
        const json: EndedSessions = { ended: await sessions.endAll(of ?? name) };
        return { json };
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/v1/review/sessions/{session_id}',
        summary: 'Signs out one browser. One of somebody else needs the scope admin. Needs a token always',
        scope: 'read',
        answers: { 200: { description: 'How many', content: EndedSessions } },
      },
      async ({ identity, params }) => {
        requireToken(identity);
        const id = params.session_id!;
        if (!(await within(person(identity))).some((session) => session.id === id)) throw sessionNotFound(id);
        await sessions.revoke(id);
        const json: EndedSessions = { ended: 1 };
        return { json };
      },
    ),
  ];

  /** Those that this person may see and end. */
  async function within({ name, scopes }: Person): Promise<OpenSession[]> {
    const all = await sessions.list();
    return scopes.includes('admin') ? all : all.filter(({ identity }) => identity.name === name);
  }
}

function shown({ id, owner, identity, created, expires }: OpenSession): ReviewSession {
  const { name, scopes, providerAccount: account } = identity;
  const groups = owner.kind === 'account' ? owner.groups : undefined;
  const by = owner.kind === 'account' ? 'provider' : 'link';
  return { id, name, by, account, groups, scopes: [...scopes], created, expires };
}
