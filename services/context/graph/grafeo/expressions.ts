import { closingOf, isClauseWord, isName, isSign, isWord, type Token } from '../text/tokens.ts';

/** Index of the first token, index after the last. */
export type Span = readonly [start: number, end: number];

const borders = new Set(
  `AND OR XOR NOT WHERE WITH RETURN WHEN THEN ELSE CASE END IN ON BY AS IS CONTAINS STARTS ENDS UNWIND MATCH OPTIONAL ORDER
  LIMIT SKIP UNION CALL DISTINCT ASC DESC ASCENDING DESCENDING YIELD`.split(/\s+/),
);
const borderSigns = new Set([',', '|', ':', ';', '..', '=', '<>', '<', '>', '<=', '>=', '=~']);

/** Whether no expression goes on beyond the token. */
export function isBorder(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (token?.kind === 'sign') return borderSigns.has(token.text);
  return isBorderWord(token) && isClauseWord(tokens, at, token!.word);
}

export function isBorderWord(token: Token | undefined): boolean {
  return token?.kind === 'word' && borders.has(token.word);
}

/** Where the expression begins that ends before `end`. */
export function startOf(tokens: readonly Token[], end: number, isEnd = isBorder): number {
  let at = end - 1;
  for (; at >= 0; at--) {
    if (isSign(tokens[at], ')', ']', '}')) at = tokens[at]!.pair ?? at;
    else if (isSign(tokens[at], '(', '[', '{') || isEnd(tokens, at)) break;
  }
  return at + 1;
}

/** Index after the expression that begins at `start`. */
export function endOf(tokens: readonly Token[], start: number, isEnd = isBorder): number {
  let at = start;
  for (; at < tokens.length; at++) {
    if (isSign(tokens[at], '(', '[', '{')) at = closingOf(tokens, at);
    else if (isSign(tokens[at], ')', ']', '}') || isEnd(tokens, at)) break;
  }
  return Math.min(at, tokens.length);
}

/** Indexes of a sign in a span, outside of brackets. */
export function topLevel(tokens: readonly Token[], [start, end]: Span, sign: string): number[] {
  const found: number[] = [];
  for (let at = start; at < end; at++) {
    if (isSign(tokens[at], sign)) found.push(at);
    if (isSign(tokens[at], '(', '[', '{')) at = closingOf(tokens, at);
  }
  return found;
}

/** What stands between commas. */
export function parts(tokens: readonly Token[], [start, end]: Span): Span[] {
  if (start >= end) return [];
  const commas = topLevel(tokens, [start, end], ',');
  return [...commas, end].map((to, nth) => [nth === 0 ? start : commas[nth - 1]! + 1, to]);
}

/** Whether the `IN` gives its left side a name, as in `[x IN list | …]`, `any(x IN list WHERE …)` and `reduce`. */
export function isBinding(tokens: readonly Token[], index: number): boolean {
  const open = tokens[index]!.within;
  if (open === null || !isName(tokens[index - 1])) return false;
  if (isSign(tokens[open], '[')) return open === index - 2;
  if (isWord(tokens[open - 1], 'ANY', 'ALL', 'NONE', 'SINGLE')) return open === index - 2;
  return isWord(tokens[open - 1], 'REDUCE') && isSign(tokens[index - 2], ',');
}

/** Whether the token names a node, a relationship or a path of a pattern. */
export function isPatternName(tokens: readonly Token[], index: number): boolean {
  const [before, after] = [tokens[index - 1], tokens[index + 1]];
  if (isSign(before, '[')) return isSign(tokens[index - 2], '-') && isSign(after, ']', ':', '{', '*');
  if (isSign(after, '=') && (isWord(before, 'MATCH') || isPathAfterComma(tokens, index))) return true;
  const isFunction =
    tokens[index - 2]?.kind === 'word' &&
    !isWord(tokens[index - 2], 'MATCH', 'WHERE', 'NOT', 'EXISTS', 'AND', 'OR');
  return isSign(before, '(') && !isFunction && isSign(after, ')', ':', '{');
}

/** Whether a word there names a variable, a property, a label, a type, a column or a key. */
export function isNameAt(tokens: readonly Token[], index: number): boolean {
  const [before, after] = [tokens[index - 1], tokens[index + 1]];
  const isInMap = isSign(tokens[tokens[index]!.within ?? -1], '{');
  // In `n. RETURN n` the property is missing.
  if (isSign(before, '.')) return !isName(after) || isBorder(tokens, index + 1);
  if (isWord(before, 'AS')) return true;
  if (isSign(after, ':') && isInMap && isSign(before, '{', ',')) return true;
  if (isSign(before, ':')) return !(isInMap && isSign(tokens[index - 3], '{', ','));
  return isVariableAt(tokens, index);
}

/** Whether a pattern, or an `IN` that gives a name, names a variable there. */
export function isVariableAt(tokens: readonly Token[], index: number): boolean {
  return isPatternName(tokens, index) || (isWord(tokens[index + 1], 'IN') && isBinding(tokens, index + 1));
}

/** `MATCH …, p = (a)-->(b)` */
function isPathAfterComma(tokens: readonly Token[], index: number): boolean {
  const isPath =
    isSign(tokens[index + 2], '(') || isWord(tokens[index + 2], 'SHORTESTPATH', 'ALLSHORTESTPATHS');
  return isSign(tokens[index - 1], ',') && isPath && tokens[index]!.within === null;
}

/** Whether a word there is called. */
export function isCall(tokens: readonly Token[], index: number): boolean {
  return (
    tokens[index]?.kind === 'word' &&
    isSign(tokens[index + 1], '(') &&
    !isSign(tokens[index - 1], '.') &&
    !borders.has(tokens[index]!.word)
  );
}

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

export function isAggregate(tokens: readonly Token[], index: number): boolean {
  return isWord(tokens[index], ...aggregates) && isCall(tokens, index);
}

const afterReturn = ['RETURN', 'ORDER', 'SKIP', 'OFFSET', 'LIMIT', 'UNION'];

/** The items of a `RETURN` or `WITH`. */
export function itemsAfter(tokens: readonly Token[], clause: number): Span[] {
  const start = clause + (isWord(tokens[clause + 1], 'DISTINCT') ? 2 : 1);
  const isEnd = (all: readonly Token[], at: number) =>
    isSign(all[at], ';') || isClauseWord(all, at, ...afterReturn);
  return parts(tokens, [start, endOf(tokens, start, isEnd)]);
}
