import { IssueList, issueStates } from '#kit/contracts/issues.ts';
import { Unauthorized } from '#kit/errors.ts';
import type { ParameterDescription, Route, RouteRequest } from '#kit/http/route.ts';
import { route } from '#kit/http/route.ts';
import type { Agent } from '../agent.ts';
import type { IssueQuery } from '../planning/list-issues.ts';
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
        // The forges are asked with the credentials of this installation, and count how often.
        if (identity === null) {
          throw new Unauthorized('token_required', 'this needs a token of scope read', {
            hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
          });
        }
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
  ];
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
  if (owner === undefined)
    throw invalidParameter('owner', owner, 'the owner of a repository, for example koajs');
  if (repo === undefined) throw invalidParameter('repo', repo, 'the name of a repository, for example koa');
  return {
    owner,
    repo,
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
