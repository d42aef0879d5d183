import { isClauseWord, isSign, isWord, type Token } from './tokens.ts';

/**
 * The query with a `LIMIT` at its end where it has none, so that the engine stops there by itself. A `UNION` is left as it is: a
 * limit in one of its parts could take rows away that the others do not have.
 */
export function withLimit(query: string, tokens: readonly Token[], rows: number): string {
  const top = topLevel(tokens);
  const last = top.findLastIndex((index) => isClauseWord(tokens, index, 'RETURN'));
  if (last === -1 || top.some((index) => isClauseWord(tokens, index, 'UNION'))) return query;
  const after = top.slice(last + 1);
  if (after.some((index) => isClauseWord(tokens, index, 'LIMIT'))) return query;
  const end = tokens.findLast((token) => !isSign(token, ';'))!.end;
  return `${query.slice(0, end)}\nLIMIT ${rows}`;
}

function topLevel(tokens: readonly Token[]): number[] {
  const found: number[] = [];
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    if (isSign(token, '(', '[', '{')) depth++;
    else if (isSign(token, ')', ']', '}')) depth--;
    else if (depth === 0) found.push(index);
  }
  return found;
}

/** Where `name` stands first in the query, for messages of an engine that name a thing and no place. */
export function offsetOfName(tokens: readonly Token[], name: string): number | null {
  const same = (token: Token) => token.text === name || token.text === `$${name}`;
  return tokens.find((token) => same(token) && !isWord(token, 'AS'))?.offset ?? null;
}
