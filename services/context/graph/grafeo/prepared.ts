import {
  closingOf,
  isClauseWord,
  isSign,
  isWord,
  parameterName,
  type Token,
  tokensOf,
} from '../text/tokens.ts';
import { isCall, itemsAfter } from './expressions.ts';

/**
 * The text that Grafeo runs in place of the caller's: with a limit, and with a `sum` that is 0 where it has nothing to add (Grafeo
 * gives null). Columns keep their names.
 */
export function prepared(query: string, rows: number): string {
  const summed = withColumns(query, tokensOf(query));
  return withLimit(summed, tokensOf(summed), rows);
}

function withColumns(query: string, tokens: readonly Token[]): string {
  const inserts: (readonly [offset: number, text: string])[] = [];
  for (const [index, token] of tokens.entries()) {
    const close = closingOf(tokens, index + 1);
    if (!isWord(token, 'SUM') || !isCall(tokens, index) || close === tokens.length) continue;
    inserts.push([token.offset, 'coalesce('], [tokens[close]!.end, ', 0)']);
  }
  for (let index = 0; index < tokens.length; index++) {
    if (!isClauseWord(tokens, index, 'RETURN')) continue;
    for (const [start, end] of itemsAfter(tokens, index)) {
      const item = tokens.slice(start, end);
      if (item.some((part) => isWord(part, 'AS')) || !isExpression(item)) continue;
      const written = query.slice(item[0]!.offset, item.at(-1)!.end);
      inserts.push([item.at(-1)!.end, ` AS \`${written.replaceAll('`', '``')}\``]);
    }
  }
  let text = query;
  const byPlace = inserts
    .map((insert, nth) => ({ insert, nth }))
    .sort((a, b) => b.insert[0] - a.insert[0] || b.nth - a.nth);
  for (const { insert } of byPlace) text = text.slice(0, insert[0]) + insert[1] + text.slice(insert[0]);
  return text;
}

/** More than a name or a property, whose columns Grafeo names as they are written. */
function isExpression(item: readonly Token[]): boolean {
  const isProperty = item.length === 3 && isSign(item[1], '.');
  return item.length > 1 && !isProperty && !isSign(item[0], '*');
}

type Params = Readonly<Record<string, unknown>>;

const plainName = /^\$[A-Za-z]\w*$/;
const reserved = new Set(
  `ALL AND AS ASC BY CALL CASE CONTAINS COUNT CREATE DELETE DESC DETACH DISTINCT ELSE END ENDS EXISTS FALSE FOREACH IN IS LIMIT
  LOAD MATCH MERGE NOT NULL ON OPTIONAL OR ORDER REMOVE RETURN SET SKIP STARTS THEN TRUE UNION UNWIND WHEN WHERE WITH XOR YIELD`.split(
    /\s+/,
  ),
);

/** Grafeo takes no keyword and nothing in backticks for the name of a parameter: such ones get other names. */
export function renamed(query: string, params: Params): { query: string; params: Params } {
  const odd = tokensOf(query).filter(({ kind, text }) => {
    return kind === 'parameter' && (!plainName.test(text) || reserved.has(text.slice(1).toUpperCase()));
  });
  let text = query;
  const values: Record<string, unknown> = { ...params };
  for (const [nth, token] of [...odd.entries()].reverse()) {
    const name = parameterName(token);
    if (!Object.hasOwn(params, name)) continue;
    const fresh = `renamed_parameter_${nth}`;
    values[fresh] = params[name];
    text = `${text.slice(0, token.offset)}$${fresh}${text.slice(token.end)}`;
  }
  return { query: text, params: values };
}

/**
 * The query with a `LIMIT` at its end where it has none, so that the engine stops there by itself. A `UNION` is left as it is: a
 * limit in one of its parts could take rows away that the others do not have.
 */
export function withLimit(query: string, tokens: readonly Token[], rows: number): string {
  const top = [...tokens.keys()].filter((index) => tokens[index]!.within === null);
  const last = top.findLastIndex((index) => isClauseWord(tokens, index, 'RETURN'));
  if (last === -1 || top.some((index) => isClauseWord(tokens, index, 'UNION'))) return query;
  const after = top.slice(last + 1);
  if (after.some((index) => isClauseWord(tokens, index, 'LIMIT'))) return query;
  const end = tokens.findLast((token) => !isSign(token, ';'))!.end;
  return `${query.slice(0, end)}\nLIMIT ${rows}`;
}
