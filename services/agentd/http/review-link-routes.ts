import { EndedSessions, SignInLink, SignInLinkBody } from '#kit/contracts/review.ts';
import { type Route, route, routeWithBody } from '#kit/http/route.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { Sessions } from '../review/session.ts';
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
        const { code, expires_at } = sessions.link(sessions.ownerOf(person(identity)));
        const query = new URLSearchParams({ code, ...(run === null ? {} : { run: run.run_id }) });
        const json: SignInLink = { path: `/sign-in?${query}`, expires_at };
        return { status: 201, json };
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/v1/review/sessions',
        summary: 'Signs out every browser that this token signed in to the review page. Needs a token always',
        scope: 'read',
        answers: { 200: { description: 'How many', content: EndedSessions } },
      },
      async ({ identity }) => {
        requireToken(identity);
        const json: EndedSessions = { ended: sessions.endAll(sessions.ownerOf(person(identity))) };
        return { json };
      },
    ),
  ];
}
