import { issueStates } from '#kit/contracts/issues.ts';
import { oneOf, Timestamp } from '#kit/decode.ts';
import { Unauthorized } from '#kit/errors.ts';
import {
  invalidQuery,
  type ParameterDescription,
  queryInteger,
  queryValue,
  type RouteRequest,
} from '#kit/http/route.ts';
import type { ChangeQuery, IssueQuery } from '../planning/issues.ts';
import type { RepositoryRef } from '../ports/forge.ts';

type Parameters = Readonly<Record<string, ParameterDescription>>;
type Query = RouteRequest['query'];

const limit = { description: 'How many', schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } };
const issueSorts = ['created', 'updated'] as const;
const repository = {
  owner: { description: 'Owner of the repository', schema: { type: 'string' }, required: true },
  repo: { description: 'Name of the repository', schema: { type: 'string' }, required: true },
  forge: {
    description: 'Name of a forge; default the one that knows the repository',
    schema: { type: 'string' },
  },
};

export const issueParameters: Parameters = {
  ...repository,
  label: { description: 'Only issues with this label, in any case', schema: { type: 'string' } },
  state: {
    description: 'Only issues of this state',
    schema: { type: 'string', enum: [...issueStates], default: 'open' },
  },
  sort: {
    description: 'The newest first by which time; where a forge cannot sort, among its newest thousand',
    schema: { type: 'string', enum: [...issueSorts], default: 'created' },
  },
  limit,
};

export const changeParameters: Parameters = {
  ...repository,
  since: {
    description: "RFC 3339, by the forge's clock; whole seconds count",
    schema: { type: 'string', format: 'date-time' },
    required: true,
  },
};

export const inboxParameters: Parameters = {
  person: {
    description: 'Whose: a person of policy.json, or the name of a token; default that of the token shown',
    schema: { type: 'string' },
  },
  all: { description: 'What waits for anybody', schema: { type: 'string', enum: ['true'] } },
};

/** Whose inbox it is; null for everybody's, as without a token. */
export function inboxQuery({ person, all }: Query, identity: RouteRequest['identity']): string | null {
  if (all === undefined) return person ?? identity?.name ?? null;
  queryValue(oneOf(['true']), all, 'all');
  if (person === undefined) return null;
  throw invalidQuery('person', person, 'left out where all is given');
}

export function issueQuery({ label, state = 'open', sort = 'created', limit, ...of }: Query): IssueQuery {
  return {
    ...repositoryOf(of),
    state: queryValue(oneOf(issueStates), state, 'state'),
    sort: queryValue(oneOf(issueSorts), sort, 'sort'),
    limit: queryInteger('limit', limit ?? '10', 1, 100),
    ...(label === undefined ? {} : { label }),
  };
}

export function changeQuery({ since, ...of }: Query): ChangeQuery {
  if (since === undefined || !Timestamp.is(since))
    throw invalidQuery(
      'since',
      since,
      'an RFC 3339 date and time with Z or an offset, for example 2026-11-23T08:00:00Z',
    );
  return { ...repositoryOf(of), since };
}

/** For routes that need a token also where reading is open. */
export function requireToken(identity: RouteRequest['identity']): void {
  if (identity !== null) return;
  throw new Unauthorized('token_required', 'this needs a token of scope read', {
    hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
  });
}

function repositoryOf({ owner, repo, forge }: Query): RepositoryRef & { readonly forge?: string } {
  if (owner === undefined) throw invalidQuery('owner', owner, 'the owner of a repository, for example koajs');
  if (repo === undefined) throw invalidQuery('repo', repo, 'the name of a repository, for example koa');
  return { owner, repo, ...(forge === undefined ? {} : { forge }) };
}
