import { ChangedIssues, IssueList, issueStates } from '#kit/contracts/issues.ts';
import { Timestamp } from '#kit/decode.ts';
import { Unauthorized } from '#kit/errors.ts';
import type { ParameterDescription, Route, RouteRequest } from '#kit/http/route.ts';
import { route } from '#kit/http/route.ts';
import type { Agent } from '../agent.ts';
import type { ChangeQuery } from '../planning/changed-issues.ts';
import type { IssueQuery } from '../planning/list-issues.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import { invalidParameter, parseInteger } from './list-query.ts';

const parameters: Readonly<Record<string, ParameterDescription>> = {
  owner: { description: 'Owner of the repository', schema: { type: 'string' }, required: true },
  repo: { description: 'Name of the repository', schema: { type: 'string' }, required: true },
  forge: {
    description: 'Name of a forge; default the one that knows the repository',
    schema: { type: 'string' },
  },
  label: { description: 'Only issues with this label, in any case', schema: { type: 'string' } },
  state: { description: 'Only issues of this state', schema: { enum: [...issueStates], default: 'open' } },
  sort: {
    description: 'The newest first by which time; where a forge cannot sort, among its newest thousand',
    schema: { enum: ['created', 'updated'], default: 'created' },
  },
  limit: { description: 'How many', schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
};

const changeParameters: Readonly<Record<string, ParameterDescription>> = {
  owner: parameters.owner!,
  repo: parameters.repo!,
  forge: parameters.forge!,
  since: {
    description: "RFC 3339, by the forge's clock; whole seconds count",
    schema: { type: 'string', format: 'date-time' },
    required: true,
  },
};

export function issueRoutes(agent: Agent, signal: AbortSignal): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/issues',
        summary:
          'Issues of a repository as its forge has them, newest first, with the run that planned each. Needs a token always',
        scope: 'read',
        query: parameters,
        answers: { 200: { description: 'The issues', content: IssueList } },
      },
      async ({ query, identity }) => {
        needToken(identity);
        const { issues, ...repository } = await agent.issues(parseIssueQuery(query), signal);
        const json: IssueList = {
          ...repository,
          issues: issues.map(({ author, labels, body, locked, ...issue }) => ({
            ...issue,
            author: author.login,
            labels: [...labels],
          })),
        };
        return { json };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/issues/changed',
        summary:
          'Issues that changed on their forge since a time, the one that changed first first. Needs a token always',
        scope: 'read',
        query: changeParameters,
        answers: { 200: { description: 'What changed', content: ChangedIssues } },
      },
      async ({ query, identity }) => {
        needToken(identity);
        return { json: await agent.changedIssues(parseChangeQuery(query), signal) };
      },
    ),
  ];
}

/** The forges are asked with the credentials of this installation, and count how often. */
function needToken(identity: RouteRequest['identity']): void {
  if (identity !== null) return;
  throw new Unauthorized('token_required', 'this needs a token of scope read', {
    hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
  });
}

function parseChangeQuery({ owner, repo, forge, since }: RouteRequest['query']): ChangeQuery {
  if (since === undefined || !Timestamp.is(since))
    throw invalidParameter('since', since, 'an RFC 3339 date and time, for example 2026-11-23T08:00:00Z');
  return { ...parseRepository({ owner, repo }), since, ...(forge === undefined ? {} : { forge }) };
}

function parseRepository({ owner, repo }: RouteRequest['query']): RepositoryRef {
  if (owner === undefined)
    throw invalidParameter('owner', owner, 'the owner of a repository, for example koajs');
  if (repo === undefined) throw invalidParameter('repo', repo, 'the name of a repository, for example koa');
  return { owner, repo };
}

function parseIssueQuery({
  owner,
  repo,
  forge,
  label,
  state,
  sort,
  limit,
}: RouteRequest['query']): IssueQuery {
  return {
    ...parseRepository({ owner, repo }),
    state: parseState(state),
    sort: parseSort(sort),
    limit: limit === undefined ? 10 : parseInteger('limit', limit, 1, 100),
    ...(forge === undefined ? {} : { forge }),
    ...(label === undefined ? {} : { label }),
  };
}

function parseSort(text = 'created'): NonNullable<IssueQuery['sort']> {
  if (text === 'created' || text === 'updated') return text;
  throw invalidParameter('sort', text, 'created or updated');
}

function parseState(text = 'open'): IssueQuery['state'] {
  const state = issueStates.find((known) => known === text);
  if (state !== undefined) return state;
  throw invalidParameter('state', text, `one of ${issueStates.join(', ')}`);
}
