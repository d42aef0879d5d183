import { type CoreError, codeOf, Unavailable } from '#kit/errors.ts';
import { invalidAt, type Place, refusedAt } from '../refusals.ts';
import { isWord, placeOfName, tokensOf } from '../text/tokens.ts';

/** What Grafeo says of a query as an error of ours. Its places count the line of `EXPLAIN` that stands before the query. */
export function grafeoError(failure: Error, query: string): CoreError {
  const { message } = failure;
  if (!('code' in failure))
    return new Unavailable('cypher_unavailable', `the embedded engine failed: ${message}`, { retryAfter: 1 });
  const status = codeOf(failure);
  const said = spoken(message);
  const place = placeIn(message, said, query);
  if (status === '25G03') return refusedAt('cypher_read_only', place, said);
  if (/index <= MAX_CAPACITY/.test(message))
    return refusedAt(
      'cypher_not_supported',
      place,
      'the embedded engine cannot join so many rows in one MATCH; split it with WITH',
    );
  if (status === '42000' || needsMore(said, query))
    return refusedAt('cypher_not_supported', place, `the embedded engine cannot do this: ${said}`);
  return invalidAt(place, said);
}

/** Functions of Cypher that Grafeo lacks: the query is not wrong. */
const lacking = [
  'isempty',
  'isnan',
  'char_length',
  'normalize',
  'valuetype',
  'tostringornull',
  'tointegerornull',
];

function needsMore(said: string, query: string): boolean {
  const unknown = /Unknown function '([^']+)'/.exec(said)?.[1];
  if (unknown !== undefined) return lacking.includes(unknown.toLowerCase());
  // `WITH a AS b WHERE a.x`: Cypher still sees `a` there.
  const tokens = tokensOf(query);
  const name = /Undefined variable '([^']+)'/.exec(said)?.[1];
  const first = tokens.findIndex(({ text }) => text === name);
  const after = tokens.findIndex((token, index) => index > first && isWord(token, 'WITH'));
  return (
    name !== undefined &&
    first !== -1 &&
    after !== -1 &&
    tokens.slice(after).some((token) => isWord(token, 'WHERE'))
  );
}

function spoken(message: string): string {
  return message
    .split('\n')[0]!
    .replace(/^(Query|Database|Transaction) error: /, '')
    .replace(/^GRAFEO-\w+: /, '')
    .replace(/^(syntax|semantic|execution) error: /, '')
    .replace('[Cypher] ', '');
}

function placeIn(message: string, said: string, query: string): Place | null {
  const [, line, column] = /--> query:(\d+):(\d+)/.exec(message) ?? [];
  if (line !== undefined && Number(line) > 1) return { line: Number(line) - 1, column: Number(column) };
  const name = /'([^']+)'/.exec(said)?.[1];
  return name === undefined ? null : placeOfName(query, name);
}
