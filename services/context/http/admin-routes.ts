import {
  RefreshRequest as RefreshBody,
  type RefreshRequest,
  type WantedRepository,
} from '#kit/contracts/context/refresh.ts';
import { CheckReply, RefreshStatus, RepositoriesReply } from '#kit/contracts/context/status.ts';
import { Forbidden, InvalidInput } from '#kit/errors.ts';
import { type Route, type RouteRequest, route, routeWithBody } from '#kit/http/route.ts';
import type { Scope } from '#kit/tokens/tokens.ts';
import type { Ingestion } from '../ingest/ingestion.ts';
import type { RefreshJobs } from './refresh-jobs.ts';

export interface AdminParts {
  readonly jobs: RefreshJobs;
  readonly ingestion: Ingestion;
  readonly check: () => Promise<CheckReply>;
  /** What planning calls the repository at a path; null where it is unknown. */
  readonly nameOf: (path: string) => Promise<string | null>;
  /** Where core-agentd keeps its clone of a repository. */
  readonly mirrorOf: (repository: string) => string;
}

export function adminRoutes({ jobs, ingestion, check, nameOf, mirrorOf }: AdminParts): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/admin/refresh',
        summary: 'Read what changed in repositories; with `rebuild`, make indexes and projections again',
        // A rebuilding needs `admin` besides, and a path that is not of core-agentd's clone of that repository.
        scope: 'plan',
        body: RefreshBody,
        bodyOptional: true,
        answers: {
          200: { description: 'Done; each repository has its result or its error', content: RefreshStatus },
          202: { description: 'It goes on; ask for it by its id', content: RefreshStatus },
        },
      },
      async ({ body, identity }) => {
        if (namesPath(body, mirrorOf)) requireScope(identity, 'admin', 'reading a path of this machine');
        if (body.rebuild === true) requireScope(identity, 'admin', 'rebuilding');
        checkRebuild(body);
        const status = await jobs.refresh(await named(body, ingestion, nameOf), identity!.name);
        const location = { Location: `/v1/admin/refresh?id=${status.id}` };
        return status.state === 'running'
          ? { status: 202, headers: location, json: status }
          : { json: status };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/admin/refresh',
        summary: 'How a refresh goes, or went',
        scope: 'read',
        query: { id: { description: 'Which one; default the latest', schema: { type: 'string' } } },
        answers: { 200: { description: 'The refresh', content: RefreshStatus } },
      },
      async ({ query }) => ({ json: jobs.status(query.id) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/admin/check',
        summary: 'Checks the record, and compares it with its mirror. Reads everything',
        scope: 'plan',
        answers: { 200: { description: 'What was found', content: CheckReply } },
      },
      async () => ({ json: await check() }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/repositories',
        summary: 'Repositories that were read',
        scope: 'read',
        answers: { 200: { description: 'All of them', content: RepositoriesReply } },
      },
      async () => ({ json: { repositories: await ingestion.known() } }),
    ),
  ];
}

/** Indexes and projections are made again for all or not at all. */
function checkRebuild({ rebuild, repositories }: RefreshRequest): void {
  if (rebuild !== true || repositories === undefined) return;
  const detail = `is ${JSON.stringify(repositories).slice(0, 200)}: must be left out beside rebuild, which makes all indexes and projections again`;
  throw new InvalidInput('invalid_input', `the body: /repositories ${detail}`, {
    errors: [{ pointer: '/repositories', detail }],
    hint: 'Leave the repositories out; or read every file of one again with {"repositories": ["NAME"], "full": true}.',
  });
}

/** A path that is new gets the name that planning gives it, so that both are one repository. */
async function named(
  body: RefreshRequest,
  ingestion: Ingestion,
  nameOf: AdminParts['nameOf'],
): Promise<RefreshRequest> {
  if (body.repositories === undefined) return body;
  const known = new Set((await ingestion.known()).map(({ path }) => path));
  const repositories = await Promise.all(
    body.repositories.map(async (wanted): Promise<WantedRepository> => {
      if (typeof wanted !== 'string' || !wanted.startsWith('/') || known.has(wanted)) return wanted;
      const name = await nameOf(wanted);
      return name === null ? wanted : { name, path: wanted, commit: undefined };
    }),
  );
  return { ...body, repositories };
}

/** True if it names a path by itself, other than that of core-agentd's clone of just that repository. */
function namesPath({ repositories = [] }: RefreshRequest, mirrorOf: AdminParts['mirrorOf']): boolean {
  return repositories.some((wanted) =>
    typeof wanted === 'string' ? wanted.startsWith('/') : wanted.path !== mirrorOf(wanted.name),
  );
}

/**
 * For what only some requests of a route may do.
 * @param what completes "… needs"
 * @throws Forbidden (`scope_missing`)
 */
function requireScope(identity: RouteRequest['identity'], scope: Scope, what: string): void {
  if (identity?.scopes.includes(scope)) return;
  const who =
    identity === null ? 'nobody' : `token ${identity.name} has the scopes ${identity.scopes.join(', ')}`;
  throw new Forbidden('scope_missing', `${who}; ${what} needs ${scope}`);
}
