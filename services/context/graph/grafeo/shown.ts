import { closingOf, isName, isSign, isWord, parameterName, type Token } from '../text/tokens.ts';
import { endOf, isBinding, isCall, isPatternName, type Span, startOf, topLevel } from './expressions.ts';

export interface Query {
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * What the tokens of an expression show that its value may be or hold, as bits: nothing is worked out, every token counts. `text`
 * may look like a number, a `word` does not; `float` comes with `number`; `list` may hold `nothing`, which is null.
 */
export const shows = {
  text: 1,
  word: 2,
  number: 4,
  float: 8,
  list: 16,
  nothing: 32,
  map: 64,
  entity: 128,
  /** Of a list that holds lists. */
  nested: 256,
} as const;

const { text, word, number, float, list, nothing, map, entity, nested } = shows;
const anything = text | word | number | float | nothing;
const fraction = number | float;

/** Of the graph; every other one is text or null. */
const properties: Readonly<Record<string, number>> = {
  ...each(text, `id kind title valid_from`),
  ...each(
    number | nothing,
    `start_line end_line ordinal number risk_score seq worked failed lines bytes issue_number pull_request input_tokens
    output_tokens`,
  ),
  ...each(fraction | nothing, 'weight confidence cost'),
  ...each(nothing, 'dry_run pinned validation_passed'),
};

const functions: Readonly<Record<string, number>> = {
  ...each(number, 'COUNT SIZE LENGTH TOINTEGER SIGN'),
  ...each(fraction, 'TOFLOAT FLOOR CEIL SQRT RAND AVG SUM EXP LOG LOG10 STDEV STDEVP'),
  ...each(text, 'TOSTRING TOUPPER TOLOWER TRIM LTRIM RTRIM REPLACE SUBSTRING LEFT RIGHT'),
  ...each(word, 'TYPE'),
  ...each(0, 'EXISTS TOBOOLEAN ANY ALL NONE SINGLE ISEMPTY'),
  ...each(entity, 'STARTNODE ENDNODE SHORTESTPATH'),
  ...each(list | entity, 'NODES RELATIONSHIPS ALLSHORTESTPATHS'),
  ...each(list | word, 'LABELS KEYS'),
  ...each(list | text, 'SPLIT'),
  ...each(list | number, 'RANGE'),
  ...each(map, 'PROPERTIES'),
};

function each(bits: number, names: string): Record<string, number> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, bits]));
}

/** What an expression shows; `CASE … END` shows nothing of what it is, and may be anything. */
export function shown(query: Query, [start, end]: Span): number {
  let bits = start < end ? 0 : anything;
  for (let at = start; at < end; ) {
    const [own, next] = shownAt(query, at);
    bits |= own;
    at = next;
  }
  return bits;
}

/** What begins at a token, and the index after it. */
function shownAt(query: Query, at: number): readonly [bits: number, next: number] {
  const { tokens } = query;
  const token = tokens[at]!;
  const close = closingOf(tokens, at);
  if (token.kind === 'string') return [shownText(token.text.slice(1, -1)), at + 1];
  if (token.kind === 'number') return [/[.eE]/.test(token.text) ? fraction : number, at + 1];
  if (isSign(token, '[')) return reached(query, shownList(query, [at + 1, close]), close + 1);
  if (isSign(token, '{')) return reached(query, map, close + 1);
  if (isSign(token, ')')) return reached(query, 0, at + 1);
  if (isSign(token, '^')) return [fraction, at + 1];
  if (isSign(token, '-', '*', '/', '%')) return [number, at + 1];
  if (token.kind === 'parameter') return shownParameter(query, at);
  if (!isName(token)) return [0, at + 1];
  if (isCall(tokens, at)) return shownCall(query, at);
  if (isSign(tokens[at + 1], '{'))
    return [isWord(token, 'COUNT') ? number : map, closingOf(tokens, at + 1) + 1];
  if (isWord(token, 'NULL')) return [nothing, at + 1];
  if (isWord(token, ...keywords)) return [0, at + 1];
  return reached(query, shownName(query, at), at + 1);
}

const keywords =
  `TRUE FALSE AND OR XOR NOT CASE WHEN THEN ELSE END IN IS DISTINCT STARTS ENDS WITH CONTAINS WHERE`.split(
    ' ',
  );

function shownText(value: string): number {
  return value.trim() === '' || Number.isNaN(Number(value)) ? word : text;
}

/** What a property of the graph shows. */
export function shownProperty(name: string): number {
  return properties[name] ?? text | nothing;
}

/** What follows a value: `.key`, `[index]`, `[from..to]`. */
function reached({ tokens }: Query, bits: number, next: number): readonly [number, number] {
  let [held, at] = [bits, next];
  for (;;) {
    if (isSign(tokens[at], '.') && isName(tokens[at + 1])) {
      held = held === entity ? shownProperty(tokens[at + 1]!.text) : anything;
      at += 2;
    } else if (isSign(tokens[at], '[')) {
      const close = closingOf(tokens, at);
      const isSlice = topLevel(tokens, [at + 1, close], '..').length > 0;
      if (!isSlice) held = held & list ? elementOf(held) : anything;
      at = close + 1;
    } else return [held, at];
  }
}

/** The value is at hand, and so is what its path leads to. */
function shownParameter(query: Query, start: number): readonly [number, number] {
  const { tokens } = query;
  let [value, at] = [parameterValue(query, tokens[start]!), start + 1];
  for (; isSign(tokens[at], '.') && isName(tokens[at + 1]); at += 2)
    value = (value as Record<string, unknown> | null | undefined)?.[tokens[at + 1]!.text];
  return reached(query, shownValue(value), at);
}

function shownValue(value: unknown): number {
  if (value === null || value === undefined) return nothing;
  if (Array.isArray(value)) return listOf(value.reduce((bits: number, one) => bits | shownValue(one), 0));
  if (typeof value === 'number') return Number.isInteger(value) ? number : fraction;
  if (typeof value === 'string') return shownText(value);
  return typeof value === 'object' ? map : 0;
}

/** Inside of `[…]`. */
function shownList(query: Query, [start, end]: Span): number {
  const { tokens } = query;
  if (start === end) return list;
  const bar = topLevel(tokens, [start, end], '|')[0];
  if (bar !== undefined) return listOf(shown(query, [bar + 1, end]));
  if (isWord(tokens[start + 1], 'IN')) {
    const isWithoutNull = isWord(tokens[end - 1], 'NULL') && isWord(tokens[end - 2], 'NOT');
    const source = shown(query, [start + 2, endOf(tokens, start + 2)]);
    return isWithoutNull ? source & ~nothing : source;
  }
  return listOf(shown(query, [start, end]));
}

function listOf(elements: number): number {
  return elements & list ? elements | nested : elements | list;
}

/** What an element of a list shows. */
export function elementOf(bits: number): number {
  return bits & nested ? bits : bits & ~list;
}

function shownCall(query: Query, at: number): readonly [number, number] {
  const { tokens } = query;
  const close = closingOf(tokens, at + 1);
  const name = tokens[at]!.word;
  return reached(query, shownResult(query, name, [at + 2, close]), close + 1);
}

/** A function that is not listed gives one of what it is given. */
function shownResult(query: Query, name: string, inside: Span): number {
  if (name === 'REDUCE') return shownName(query, inside[0]);
  const bits = functions[name] ?? shown(query, inside);
  if (name === 'COLLECT') return listOf(bits);
  return name === 'HEAD' || name === 'LAST' ? elementOf(bits) : bits;
}

interface Given {
  /** Index of the token from which on the name has it. */
  readonly from: number;
  /** And all that it was given before. */
  readonly bits: number;
}

/** What a name was given, wherever that was before. */
function shownName(query: Query, at: number): number {
  const given = namesOf(query).get(query.tokens[at]!.text);
  return given?.findLast(({ from }) => from <= at)?.bits ?? anything;
}

const names = new WeakMap<Query, Map<string, Given[]>>();

function namesOf(query: Query): ReadonlyMap<string, readonly Given[]> {
  const known = names.get(query);
  if (known !== undefined) return known;
  const found = new Map<string, Given[]>();
  names.set(query, found);
  const { tokens } = query;
  const give = (name: string, bits: number, from: number) => {
    const given = found.get(name) ?? [];
    given.push({ from, bits: bits | (given.at(-1)?.bits ?? 0) });
    found.set(name, given);
  };
  for (const [index, token] of tokens.entries()) {
    if (!isName(token)) continue;
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    if (isWord(before, 'AS')) {
      const start = startOf(tokens, index - 1);
      const bits = shown(query, [start, index - 1]);
      give(token.text, isWord(tokens[start - 1], 'UNWIND') ? elementOf(bits) : bits, index);
    } else if (isWord(after, 'IN') && isBinding(tokens, index + 1)) {
      give(token.text, elementOf(shown(query, [index + 2, endOf(tokens, index + 2)])), index);
    } else if (isSign(after, '=') && isSign(before, '(') && isWord(tokens[index - 2], 'REDUCE')) {
      give(token.text, shown(query, [index + 2, endOf(tokens, index + 2)]), index);
      const close = closingOf(tokens, index - 1);
      for (const bar of topLevel(tokens, [index, close], '|'))
        give(token.text, shown(query, [bar + 1, close]), index);
    } else if (isPatternName(tokens, index)) give(token.text, entity, index);
  }
  return found;
}

/** undefined where there is none of that name, which the engine refuses. */
export function parameterValue({ params }: Query, token: Token): unknown {
  return params[parameterName(token)];
}
