import { issueStates } from '#kit/contracts/issues.ts';
import { RunStatus } from '#kit/contracts/run.ts';
import { runStatuses } from '#kit/contracts/vocabulary.ts';
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
import type { RunQuery } from '../runs/run-store.ts';

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

export const runParameters: Parameters = {
  limit,
  cursor: { description: '`next_cursor` of the page before', schema: { type: 'string' } },
  status: { description: 'Only runs of this status', schema: { enum: [...runStatuses] } },
  repository: { description: 'Only runs of this repository, `owner/repo`', schema: { type: 'string' } },
  forge: {
    description:
      'Only runs of this forge; `core-smoke` for those of smoke tests, which are left out otherwise',
    schema: { type: 'string' },
  },
  number: { description: 'Only runs of this issue', schema: { type: 'integer', minimum: 1 } },
};

export const issueParameters: Parameters = {
  ...repository,
  label: { description: 'Only issues with this label, in any case', schema: { type: 'string' } },
  state: { description: 'Only issues of this state', schema: { enum: [...issueStates], default: 'open' } },
  sort: {
    description: 'The newest first by which time; where a forge cannot sort, among its newest thousand',
    schema: { enum: [...issueSorts], default: 'created' },
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

export function runQuery({ limit, cursor, status, repository, forge, number }: Query): RunQuery {
  return {
    limit: queryInteger('limit', limit ?? '10', 1, 100),
    ...(cursor === undefined ? {} : { cursor }),
    ...(status === undefined ? {} : { status: queryValue(RunStatus, status, 'status') }),
    ...(repository === undefined ? {} : parseRepository(repository)),
    ...(forge === undefined ? {} : { forge }),
    ...(number === undefined ? {} : { number: queryInteger('number', number, 1, 2_147_483_647) }),
  };
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
    throw invalidQuery('since', since, 'an RFC 3339 date and time, for example 2026-11-23T08:00:00Z');
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

function parseRepository(text: string): RepositoryRef {
  const [owner = '', repo = '', ...more] = text.split('/');
  if (owner !== '' && repo !== '' && more.length === 0) return { owner, repo };
  throw invalidQuery('repository', text, 'owner/repo, for example koajs/koa');
}
