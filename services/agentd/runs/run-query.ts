import { risks, runStatuses } from '#kit/contracts/vocabulary.ts';
import { oneOf, Timestamp } from '#kit/decode.ts';
import { invalidQuery, type ParameterDescription, queryInteger, queryValue } from '#kit/http/route.ts';
import { type RepositoryName, repositoryNamed, repositoryRule } from '#kit/repository-name.ts';
import { timeSpanMs } from '#kit/time-span.ts';
import type { RunQuery } from './run-store.ts';

/** What a list of runs can be asked for with: the query of `GET /v1/runs`, and the options of `core runs`. */
export const runParameters = {
  limit: { description: 'How many', schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
  cursor: { description: '`next_cursor` of the page before', schema: { type: 'string' } },
  status: { description: 'Only runs of this status', schema: { type: 'string', enum: [...runStatuses] } },
  repository: { description: 'Only runs of this repository, `owner/repo`', schema: { type: 'string' } },
  owner: { description: 'Only runs of repositories of this owner', schema: { type: 'string' } },
  repo: { description: 'Only runs of repositories of this name', schema: { type: 'string' } },
  forge: {
    description:
      'Only runs of this forge; `core-smoke` for those of smoke tests, which are left out otherwise',
    schema: { type: 'string' },
  },
  number: { description: 'Only runs of this issue', schema: { type: 'integer', minimum: 1 } },
  text: {
    description: 'Only runs with all of these words in the title or the name of the issue, in any case',
    schema: { type: 'string' },
  },
  since: {
    description: 'Only runs made at this time or later: a date, RFC 3339, or an age like 7d; in UTC',
    schema: { type: 'string' },
  },
  until: {
    description: 'Only runs made before this time, or on this date or earlier',
    schema: { type: 'string' },
  },
  risk: {
    description: 'Only runs with an action of this risk or a higher one',
    schema: { type: 'string', enum: [...risks] },
  },
  asker: {
    description: 'Only runs that this token or account asked for, in any case',
    schema: { type: 'string' },
  },
  decider: {
    description: 'Only runs with a decision of this person or token, in any case',
    schema: { type: 'string' },
  },
} satisfies Readonly<
  Record<Exclude<keyof RunQuery, 'without_failed_plannings' | 'among'> | 'repository', ParameterDescription>
>;

export type RunParameter = keyof typeof runParameters;

/** @throws InvalidInput (`invalid_query`) with the name of the parameter as pointer */
export function decodeRunQuery(
  given: Readonly<Partial<Record<RunParameter, string | undefined>>>,
  now: Date,
): RunQuery {
  const {
    limit,
    cursor,
    status,
    repository,
    owner,
    repo,
    forge,
    number,
    text,
    since,
    until,
    risk,
    asker,
    decider,
  } = given;
  return {
    limit: queryInteger('limit', limit ?? '10', 1, 100),
    ...(cursor === undefined ? {} : { cursor }),
    ...(status === undefined ? {} : { status: queryValue(oneOf(runStatuses), status, 'status') }),
    ...(owner === undefined ? {} : { owner }),
    ...(repo === undefined ? {} : { repo }),
    ...(repository === undefined ? {} : parseRepository(repository)),
    ...(forge === undefined ? {} : { forge }),
    ...(number === undefined ? {} : { number: queryInteger('number', number, 1, 2_147_483_647) }),
    ...(text === undefined ? {} : { text: requireText('text', text, 'greeting') }),
    ...(since === undefined ? {} : { since: timeNamed('since', since, now).begin }),
    ...(until === undefined ? {} : { until: timeNamed('until', until, now).end }),
    ...(asker === undefined ? {} : { asker: requireText('asker', asker, 'mira') }),
    ...(decider === undefined ? {} : { decider: requireText('decider', decider, 'mira') }),
    ...(risk === undefined ? {} : { risk: queryValue(oneOf(risks), risk, 'risk') }),
  };
}

function requireText(name: string, text: string, example: string): string {
  if (text.trim() !== '') return text;
  throw invalidQuery(name, text, `a text that is not empty, for example ${example}`);
}

function parseRepository(text: string): RepositoryName {
  const found = repositoryNamed(text);
  if (found !== null) return found;
  throw invalidQuery('repository', text, repositoryRule);
}

const dayMs = 86_400_000;

/** A date is all of its day; a time and an age are one moment. */
function timeNamed(name: string, text: string, now: Date): { readonly begin: string; readonly end: string } {
  const span = timeSpanMs(text);
  if (span !== null) return moment(now.getTime() - span);
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const time = isDate ? `${text}T00:00:00Z` : text;
  if (!Timestamp.is(time) || (isDate && !isoOf(Date.parse(time)).startsWith(text))) {
    throw invalidQuery(
      name,
      text,
      'a date, an RFC 3339 time with Z or an offset, or an age; for example 2026-11-23, 2026-11-23T08:00:00Z or 7d',
    );
  }
  const begin = Date.parse(time);
  return isDate ? { begin: isoOf(begin), end: isoOf(begin + dayMs) } : moment(begin);
}

function moment(time: number): { readonly begin: string; readonly end: string } {
  return { begin: isoOf(time), end: isoOf(time) };
}

function isoOf(time: number): string {
  return new Date(time).toISOString();
}
