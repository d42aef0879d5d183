import { step } from '../text/steps.ts';
import { closingOf, isClauseWord, isSign, isWord, type Token } from '../text/tokens.ts';
import type { Query } from './query.ts';

const aggregates = [
  'COUNT',
  'COLLECT',
  'SUM',
  'AVG',
  'MIN',
  'MAX',
  'STDEV',
  'STDEVP',
  'PERCENTILECONT',
  'PERCENTILEDISC',
];
const afterReturn = ['RETURN', 'ORDER', 'SKIP', 'OFFSET', 'LIMIT', 'UNION'];

/** A `RETURN` that groups gives nodes and relationships as internal numbers; `WITH` does not. */
export function aggregateProblem({ tokens }: Query, index: number): string | null {
  if (isClauseWord(tokens, index, 'RETURN')) return groupedEntity(tokens, index);
  if (!isAggregate(tokens, index)) return null;
  for (let at = tokens[index]!.within; at !== null; at = tokens[at]!.within) {
    step(tokens);
    if (isSign(tokens[at], '{') && isSubquery(tokens, at)) return null;
    if (!isSign(tokens[at], '('))
      return 'an aggregate inside a map or list; aggregate in WITH … AS x first, then use x';
  }
  return null;
}

function groupedEntity(tokens: readonly Token[], index: number): string | null {
  const items = itemsAfter(tokens, index);
  step(tokens, 2 * ((items.at(-1)?.[1] ?? index) - index));
  const groups = items.some(([start, end]) => range(start, end).some((at) => isAggregate(tokens, at)));
  if (!groups) return null;
  const named = entitiesOf(tokens);
  for (const [start, end] of items) {
    const first = tokens[start];
    const isAlone = start + 1 === end || isWord(tokens[start + 1], 'AS');
    if (first !== undefined && isAlone && named.has(first.text))
      return `RETURN ${first.text} beside an aggregate; write WITH ${first.text}, … AS x RETURN ${first.text}, x`;
    const collected = range(start, end).find(
      (at) => isWord(tokens[at], 'COLLECT') && isAggregate(tokens, at),
    );
    if (collected === undefined) continue;
    const name = isWord(tokens[collected + 2], 'DISTINCT') ? collected + 3 : collected + 2;
    if (isSign(tokens[name + 1], ')') && named.has(tokens[name]!.text))
      return `RETURN collect(${tokens[name]!.text}); write WITH collect(${tokens[name]!.text}) AS x RETURN x`;
  }
  return null;
}

function isAggregate(tokens: readonly Token[], index: number): boolean {
  return (
    isWord(tokens[index], ...aggregates) && isSign(tokens[index + 1], '(') && !isSign(tokens[index - 1], '.')
  );
}

const entities = new WeakMap<readonly Token[], Set<string>>();

/** Variables of nodes, relationships and paths. */
function entitiesOf(tokens: readonly Token[]): Set<string> {
  const known = entities.get(tokens);
  if (known !== undefined) return known;
  const found = new Set<string>();
  entities.set(tokens, found);
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'word' && token.kind !== 'name') continue;
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    const inNode = isSign(before, '(') && tokens[index - 2]?.kind !== 'word' && isSign(after, ')', ':', '{');
    const afterMatch =
      isSign(before, '(') && isWord(tokens[index - 2], 'MATCH', 'SHORTESTPATH', 'ALLSHORTESTPATHS');
    const inRelation =
      isSign(before, '[') && isSign(tokens[index - 2], '-') && isSign(after, ']', ':', '{', '*');
    const isPath = isSign(after, '=') && (isWord(before, 'MATCH') || isSign(before, ','));
    if (inNode || afterMatch || inRelation || isPath) found.add(token.text);
  }
  return found;
}

/** The items of a projection: index of the first token, index after the last. */
export function itemsAfter(tokens: readonly Token[], clause: number): [number, number][] {
  const items: [number, number][] = [];
  let start = clause + (isWord(tokens[clause + 1], 'DISTINCT') ? 2 : 1);
  let at = start;
  while (
    at < tokens.length &&
    !isSign(tokens[at], ';', '}', ')') &&
    !isClauseWord(tokens, at, ...afterReturn)
  ) {
    if (isSign(tokens[at], ',')) {
      items.push([start, at]);
      start = at + 1;
    }
    at = isSign(tokens[at], '(', '[', '{') ? closingOf(tokens, at) + 1 : at + 1;
    step(tokens);
  }
  items.push([start, Math.min(at, tokens.length)]);
  return items;
}

function isSubquery(tokens: readonly Token[], open: number): boolean {
  return isWord(tokens[open - 1], 'CALL', 'EXISTS', 'COUNT', 'COLLECT') || isSign(tokens[open - 1], ')');
}

function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, nth) => start + nth);
}
