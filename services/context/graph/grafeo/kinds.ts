import { step } from '../text/steps.ts';
import { closingOf, isClauseWord, isSign, isWord, type Token } from '../text/tokens.ts';
import { fractional, integral, textual } from './property-kinds.ts';
import type { Query } from './query.ts';

/** What is known of a value before the query runs. `property`: of a property that may hold anything. */
export type Kind =
  | 'integer'
  | 'float'
  | 'text'
  | 'word'
  | 'boolean'
  | 'null'
  | 'map'
  | 'entity'
  | 'property'
  | 'unknown'
  | { readonly each: Kind };

type Span = readonly [start: number, end: number];

const results: Readonly<Record<string, Kind>> = {
  ...named('integer', 'COUNT SIZE LENGTH TOINTEGER SIGN'),
  ...named('float', 'TOFLOAT FLOOR CEIL SQRT RAND AVG SUM ABS EXP LOG STDEV STDEVP'),
  ...named('text', 'TOSTRING TOUPPER TOLOWER TRIM LTRIM RTRIM REPLACE SUBSTRING LEFT RIGHT TYPE'),
  ...named('boolean', 'EXISTS TOBOOLEAN ANY ALL NONE SINGLE ISEMPTY'),
  ...named('entity', 'STARTNODE ENDNODE SHORTESTPATH'),
  ...named('map', 'PROPERTIES'),
  ...named({ each: 'text' }, 'LABELS KEYS SPLIT'),
  ...named({ each: 'integer' }, 'RANGE'),
  ...named({ each: 'entity' }, 'NODES RELATIONSHIPS'),
};

function named(kind: Kind, names: string): Record<string, Kind> {
  return Object.fromEntries(names.split(' ').map((name) => [name, kind]));
}

const deepest = 12;

/** The kind of the expression in `tokens[start, end)`; `unknown` where only running it would tell. */
export function kindOf(query: Query, [start, end]: Span, depth = 0): Kind {
  const { tokens, params } = query;
  const [first, second] = [tokens[start], tokens[start + 1]];
  step(tokens);
  if (depth > deepest || start >= end || first === undefined) return 'unknown';
  if (end - start === 1) return kindOfOne(query, first, depth);
  if (first.pair === end - 1) {
    if (isSign(first, '(')) return kindOf(query, [start + 1, end - 1], depth + 1);
    if (isSign(first, '{')) return 'map';
    return { each: kindOfList(query, [start + 1, end - 1], depth + 1) };
  }
  if (isSign(first, '-') && end - start === 2) return kindOf(query, [start + 1, end], depth + 1);
  if (end - start === 3 && isSign(second, '.') && first.kind !== 'parameter')
    return kindOfProperty(tokens[end - 1]!.text);
  if (first.kind === 'parameter' && end - start === 3 && isSign(second, '.')) {
    const held = params[first.text.slice(1)] as Record<string, unknown> | null | undefined;
    return kindOfValue(held?.[tokens[end - 1]!.text]);
  }
  if (isSign(second, '(', '{') && second!.pair === end - 1) return kindOfCall(query, start, end, depth);
  return kindOfSum(query, [start, end], depth);
}

function kindOfOne(query: Query, token: Token, depth: number): Kind {
  if (token.kind === 'number') return /[.eE]/.test(token.text) ? 'float' : 'integer';
  if (token.kind === 'string') return kindOfText(token.text.slice(1, -1));
  if (token.kind === 'parameter') return kindOfValue(query.params[token.text.slice(1).trim()]);
  if (isWord(token, 'NULL')) return 'null';
  if (isWord(token, 'TRUE', 'FALSE')) return 'boolean';
  return token.kind === 'sign' ? 'unknown' : kindOfVariable(query, token.text, depth + 1);
}

function kindOfText(text: string): Kind {
  return text.trim() === '' || Number.isNaN(Number(text)) ? 'word' : 'text';
}

function kindOfValue(value: unknown): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return { each: value.map(kindOfValue).reduce(joined, 'null') };
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'float';
  if (typeof value === 'string') return kindOfText(value);
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'object' ? 'map' : 'unknown';
}

function kindOfProperty(name: string): Kind {
  if (textual.has(name)) return 'text';
  if (fractional.has(name)) return 'float';
  return integral.has(name) ? 'integer' : 'property';
}

function kindOfCall(query: Query, start: number, end: number, depth: number): Kind {
  const name = query.tokens[start]!.text.toUpperCase();
  const inside: Span = [start + (isWord(query.tokens[start + 2], 'DISTINCT') ? 3 : 2), end - 1];
  if (name === 'COLLECT') return { each: kindOf(query, inside, depth + 1) };
  if (name === 'HEAD' || name === 'LAST') return elementOf(kindOf(query, inside, depth + 1));
  if (name === 'TAIL' || name === 'MIN' || name === 'MAX' || name === 'REVERSE')
    return kindOf(query, inside, depth + 1);
  if (name === 'COALESCE')
    return parts(query.tokens, inside)
      .map((part) => kindOf(query, part, depth + 1))
      .reduce(joined, 'null');
  return results[name] ?? 'unknown';
}

function kindOfList(query: Query, span: Span, depth: number): Kind {
  const { tokens } = query;
  const bar = topLevel(tokens, span).find((at) => isSign(tokens[at], '|'));
  if (bar !== undefined) return kindOf(query, [bar + 1, span[1]], depth);
  if (isWord(tokens[span[0] + 1], 'IN')) return kindOfOne(query, tokens[span[0]]!, depth);
  return parts(tokens, span)
    .map((part) => kindOf(query, part, depth))
    .reduce(joined, 'null');
}

/** Of numbers with signs between them. */
function kindOfSum(query: Query, span: Span, depth: number): Kind {
  const { tokens } = query;
  const signs = topLevel(tokens, span).filter((at) => isSign(tokens[at], '+', '-', '*', '/', '%', '^'));
  if (signs.length === 0 || topLevel(tokens, span).some((at) => isOperatorWord(tokens, at))) return 'unknown';
  const ends = [...signs, span[1]];
  const kinds = ends.map((end, nth) =>
    kindOf(query, [nth === 0 ? span[0] : signs[nth - 1]! + 1, end], depth + 1),
  );
  const kind = kinds.reduce(joined);
  if (kind === 'word') return 'text';
  return signs.some((at) => isSign(tokens[at], '^')) && kind === 'integer' ? 'float' : kind;
}

function isOperatorWord(tokens: readonly Token[], at: number): boolean {
  return (
    isSign(tokens[at], '=', '<', '>', '<=', '>=', '<>', '=~') ||
    isClauseWord(tokens, at, 'AND', 'OR', 'XOR', 'NOT', 'IS', 'IN', 'CASE', 'STARTS', 'ENDS', 'CONTAINS')
  );
}

const kindsOf = new WeakMap<Query, Map<string, Kind | null>>();

/** What all places that give the name agree on. */
function kindOfVariable(query: Query, name: string, depth: number): Kind {
  const known = kindsOf.get(query) ?? new Map<string, Kind | null>();
  kindsOf.set(query, known);
  const before = known.get(name);
  // null: asked while it is being found out, as in `reduce(l = [], x IN xs | l + [x])`, where it adds nothing.
  if (before !== undefined) return before ?? 'null';
  known.set(name, null);
  const found = givenAt(query.tokens).get(name) ?? [];
  step(query.tokens, found.length);
  const kind = found.map(({ span, each }) => {
    const whole = span === null ? 'entity' : kindOf(query, span, depth);
    return each ? elementOf(whole) : whole;
  });
  const agreed = kind.length === 0 ? 'unknown' : kind.reduce(joined);
  known.set(name, agreed);
  return agreed;
}

interface Given {
  /** null: it stands in a pattern. */
  readonly span: Span | null;
  readonly each: boolean;
}

const given = new WeakMap<readonly Token[], Map<string, Given[]>>();

function givenAt(tokens: readonly Token[]): Map<string, Given[]> {
  const known = given.get(tokens);
  if (known !== undefined) return known;
  const found = new Map<string, Given[]>();
  given.set(tokens, found);
  const give = (name: string, span: Span | null, each = false) => {
    const before = found.get(name);
    if (before === undefined) found.set(name, [{ span, each }]);
    else before.push({ span, each });
  };
  for (const [index, token] of tokens.entries()) {
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    if (token.kind !== 'word' && token.kind !== 'name') continue;
    if (isWord(before, 'AS')) {
      const start = startOf(tokens, index - 1);
      const each = isWord(tokens[start - 1], 'UNWIND');
      give(token.text, [start, index - 1], each);
    } else if (isWord(after, 'IN') && isBinding(tokens, index + 1)) {
      give(token.text, [index + 2, endOf(tokens, index + 2)], true);
    } else if (isSign(after, '=') && isSign(before, '(') && isWord(tokens[index - 2], 'REDUCE')) {
      give(token.text, [index + 2, endOf(tokens, index + 2)]);
      const body = topLevel(tokens, [index, closingOf(tokens, index - 1)]).find((at) =>
        isSign(tokens[at], '|'),
      );
      if (body !== undefined) give(token.text, [body + 1, closingOf(tokens, index - 1)]);
    } else if (isPatternName(tokens, index)) give(token.text, null);
  }
  return found;
}

function isPatternName(tokens: readonly Token[], index: number): boolean {
  const [before, after] = [tokens[index - 1], tokens[index + 1]];
  if (isSign(before, '[')) return isSign(tokens[index - 2], '-') && isSign(after, ']', ':', '{', '*');
  if (isSign(after, '=') && isWord(before, 'MATCH')) return true;
  const isFunction =
    tokens[index - 2]?.kind === 'word' &&
    !isWord(tokens[index - 2], 'MATCH', 'WHERE', 'NOT', 'EXISTS', 'AND', 'OR');
  return isSign(before, '(') && !isFunction && isSign(after, ')', ':', '{');
}

/** Whether the `IN` gives its left side a name, as in `[x IN list | …]`, `any(x IN list WHERE …)` and `reduce`. */
export function isBinding(tokens: readonly Token[], index: number): boolean {
  const open = tokens[index]!.within;
  if (open === null || (tokens[index - 1]?.kind !== 'word' && tokens[index - 1]?.kind !== 'name'))
    return false;
  if (isSign(tokens[open], '[')) return open === index - 2;
  if (isWord(tokens[open - 1], 'ANY', 'ALL', 'NONE', 'SINGLE')) return open === index - 2;
  return isWord(tokens[open - 1], 'REDUCE') && isSign(tokens[index - 2], ',');
}

const borders = new Set(
  `AND OR XOR NOT WHERE WITH RETURN WHEN THEN ELSE CASE END IN ON BY AS IS CONTAINS STARTS ENDS UNWIND MATCH OPTIONAL ORDER
  LIMIT SKIP UNION CALL DISTINCT ASC DESC ASCENDING DESCENDING YIELD`.split(/\s+/),
);
const borderSigns = new Set([',', '|', ':', ';', '..', '=', '<>', '<', '>', '<=', '>=', '=~']);

export function isBorder(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (token?.kind === 'sign') return borderSigns.has(token.text);
  return token?.kind === 'word' && borders.has(token.word) && isClauseWord(tokens, at, token.word);
}

/** Where the expression begins that ends before `end`. */
export function startOf(tokens: readonly Token[], end: number, isEnd = isBorder): number {
  let at = end - 1;
  for (; at >= 0; at--) {
    if (isSign(tokens[at], ')', ']', '}')) at = tokens[at]!.pair ?? at;
    else if (isSign(tokens[at], '(', '[', '{') || isEnd(tokens, at)) break;
  }
  step(tokens, end - at);
  return at + 1;
}

/** Index after the expression that begins at `start`. */
export function endOf(tokens: readonly Token[], start: number, isEnd = isBorder): number {
  let at = start;
  for (; at < tokens.length; at++) {
    if (isSign(tokens[at], '(', '[', '{')) at = closingOf(tokens, at);
    else if (isSign(tokens[at], ')', ']', '}') || isEnd(tokens, at)) break;
  }
  step(tokens, at - start);
  return Math.min(at, tokens.length);
}

function topLevel(tokens: readonly Token[], [start, end]: Span): number[] {
  const found: number[] = [];
  for (let at = start; at < end; at++) {
    found.push(at);
    if (isSign(tokens[at], '(', '[', '{')) at = closingOf(tokens, at);
  }
  step(tokens, found.length);
  return found;
}

/** What stands between commas. */
export function parts(tokens: readonly Token[], [start, end]: Span): Span[] {
  if (start >= end) return [];
  const commas = topLevel(tokens, [start, end]).filter((at) => isSign(tokens[at], ','));
  return [...commas, end].map((to, nth) => [nth === 0 ? start : commas[nth - 1]! + 1, to]);
}

export function elementOf(kind: Kind): Kind {
  return typeof kind === 'object' ? kind.each : 'unknown';
}

/** Of one or the other. */
function joined(one: Kind, other: Kind): Kind {
  if (one === 'null') return other;
  if (other === 'null' || one === other) return one;
  if (typeof one === 'object' && typeof other === 'object') return { each: joined(one.each, other.each) };
  if (isNumber(one) && isNumber(other)) return 'float';
  return isText(one) && isText(other) ? 'text' : 'unknown';
}

export function isNumber(kind: Kind): boolean {
  return kind === 'integer' || kind === 'float';
}

export function isText(kind: Kind): boolean {
  return kind === 'text' || kind === 'word';
}
