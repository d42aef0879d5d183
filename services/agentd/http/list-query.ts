import { InvalidInput } from '#kit/errors.ts';
import type { ParameterDescription, RouteRequest } from '#kit/http/route.ts';
import { type RunStatus, runStatuses } from '../runs/run.ts';
import type { RunQuery } from '../runs/run-store.ts';

export const listParameters: Readonly<Record<string, ParameterDescription>> = {
  limit: { description: 'How many', schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
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

export function parseListQuery(query: RouteRequest['query']): RunQuery {
  const { limit, cursor, status, repository, forge, number } = query;
  return {
    limit: limit === undefined ? 10 : parseInteger('limit', limit, 1, 100),
    ...(cursor === undefined ? {} : { cursor }),
    ...(status === undefined ? {} : { status: parseStatus(status) }),
    ...(repository === undefined ? {} : parseRepository(repository)),
    ...(forge === undefined ? {} : { forge }),
    ...(number === undefined ? {} : { number: parseInteger('number', number, 1, 2_147_483_647) }),
  };
}

export function parseInteger(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d{1,10}$/.test(text) && value >= min && value <= max) return value;
  throw invalidParameter(name, text, `an integer from ${min} to ${max}`);
}

function parseStatus(text: string): RunStatus {
  const status = runStatuses.find((known) => known === text);
  if (status !== undefined) return status;
  throw invalidParameter('status', text, `one of ${runStatuses.join(', ')}`);
}

function parseRepository(text: string): { owner: string; repo: string } {
  const [owner = '', repo = '', ...more] = text.split('/');
  if (owner !== '' && repo !== '' && more.length === 0) return { owner, repo };
  throw invalidParameter('repository', text, 'owner/repo, for example koajs/koa');
}

export function invalidParameter(name: string, text: string | undefined, rule: string): InvalidInput {
  const detail = `is ${text === undefined ? 'missing' : JSON.stringify(text)}: must be ${rule}`;
  return new InvalidInput('invalid_query', `query parameter ${name} ${detail}`, {
    errors: [{ pointer: `/${name}`, detail }],
  });
}
