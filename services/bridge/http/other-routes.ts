import { AgentMap } from '#kit/contracts/bridge/events.ts';
import { ScheduleList } from '#kit/contracts/bridge/schedules.ts';
import {
  CatchUpBody,
  CatchUpReply,
  SyncBody,
  SyncReply,
  SyncRepositories,
} from '#kit/contracts/bridge/sync.ts';
import { type Route, route, routeWithBody } from '#kit/http/route.ts';
import type { Schedules } from '../schedules/schedules.ts';
import type { CatchUp } from '../sync/catch-up.ts';
import type { Sync } from '../sync/sync.ts';
import type { RoleMap } from '../targets/role-map.ts';

export interface OtherRouteParts {
  readonly roles: RoleMap;
  readonly sync: Sync;
  readonly schedules: Schedules;
  readonly catchUp: CatchUp;
  /** Aborted as soon as this process ends. */
  readonly ending: AbortSignal;
}

export function otherRoutes({ roles, sync, schedules, catchUp, ending }: OtherRouteParts): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/agents/map',
        summary: 'Which role works for which role key of a dashboard',
        scope: 'read',
        answers: { 200: { description: 'The map', content: AgentMap } },
      },
      async () => ({ json: roles.view }),
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/sync/agent-to-dashboard',
        summary: 'Tell the dashboards what runs have come to; each run and state once',
        scope: 'plan',
        body: SyncBody,
        bodyOptional: true,
        answers: { 200: { description: 'What was delivered, and what waits', content: SyncReply } },
      },
      async ({ body }) => ({ json: await sync.sync({ retryDead: body.retry_dead ?? false, early: true }) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/sync/repositories',
        summary:
          'Repositories that have sent webhooks, and the time from which their forge is asked next for missed changes',
        scope: 'read',
        answers: { 200: { description: 'All of them', content: SyncRepositories } },
      },
      async () => ({ json: await catchUp.repositories() }),
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/sync/forge-to-agent',
        summary:
          'Ask the forge of a repository what changed, and handle it as its webhooks; what is known does nothing',
        scope: 'plan',
        body: CatchUpBody,
        answers: { 200: { description: 'What became of it', content: CatchUpReply } },
      },
      async ({ body }) => ({ json: await catchUp.catchUp(body, ending) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/schedules',
        summary: 'Schedules, when each is due next, and what it found last',
        scope: 'read',
        answers: { 200: { description: 'All of them', content: ScheduleList } },
      },
      async () => ({ json: await schedules.list() }),
    ),
  ];
}
