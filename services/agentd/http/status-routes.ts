import * as t from 'io-ts';
import { StatusReport } from '#kit/contracts/status.ts';
import { Unauthorized } from '#kit/errors.ts';
import { type Route, route } from '#kit/http/route.ts';
import type { Agent } from '../agent.ts';
import type { StatusCommand } from './status-command.ts';

const Storage = t.strict({ runs_count: t.number });

/** How the platform is, and how much this daemon holds. */
export function statusRoutes(agent: Agent, runStatus: StatusCommand): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/status',
        summary:
          'The report of core-status. Needs a token always; questions at the same time share one report',
        scope: 'read',
        answers: {
          200: { description: 'The report; `ok` tells whether all is well', content: StatusReport },
        },
      },
      async ({ identity }) => {
        if (identity === null) {
          throw new Unauthorized('token_required', 'this needs a token of scope read', {
            hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
          });
        }
        return { json: await runStatus() };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/storage',
        summary: 'How many runs are stored',
        scope: 'read',
        answers: { 200: { description: 'Counts', content: Storage } },
      },
      async () => ({ json: { runs_count: await agent.countRuns() } }),
    ),
  ];
}
