import { placeOf, refusedAt } from '../refusals.ts';
import { closingOf, isClauseWord, isName, isSign, isWord, type Token } from '../text/tokens.ts';
import {
  endOf,
  isAggregate,
  isBinding,
  isBorder,
  isBorderWord,
  isCall,
  isNameAt,
  isPatternName,
  isVariableAt,
  itemsAfter,
  parts,
  type Span,
  startOf,
} from './expressions.ts';
import { elementOf, parameterValue, type Query, shown, shownProperty, shows } from './shown.ts';

const { text, word, number, float, list, nothing, map, entity } = shows;

interface Construct {
  /** What is refused, as on the site's page. */
  readonly what: string;
  /** What Grafeo does with it. */
  readonly why: string;
  /** What to write instead. */
  readonly instead: string;
  /** How it looks in `outlineOf` a query, or whether it stands at a token. */
  readonly found: RegExp | At;
}
type At = (query: Query, index: number) => boolean;

const unknown = 'it does not support this syntax';
const nulled = 'it returns null instead of an error';

/**
 * Queries that Grafeo 0.6.0 answered differently from Neo4j 5, or not at all, in measurements. The table in site/graph-model.md has
 * the same rows; measure again at each upgrade.
 */
export const constructs: readonly Construct[] = [
  row(
    'brackets more than 50 deep',
    'it accepts them, but checking them would take too long',
    'write WITH … AS x first, then use x',
    isTooDeep,
  ),
  row('a keyword as a name', 'it does not allow keywords as names', 'put it in backticks', isKeywordAsName),
  row(
    'a label expression',
    unknown,
    'write n:A OR n:B, n:A AND n:B, NOT n:A in WHERE',
    /\( (\w+ )?: \w+ \||: \w+ &|: [!%(]/,
  ),
  row('a label in a parameter', unknown, 'write the label itself', /: \$/),
  row('COLLECT { … }', unknown, 'write OPTIONAL MATCH and collect(…)', /\bCOLLECT \{/),
  row('RETURN inside EXISTS { … } or COUNT { … }', unknown, 'leave it out', isInnerReturn),
  row('the pattern <-->', 'it finds nothing', 'write --', /< - - >/),
  row('SHORTEST', unknown, 'write shortestPath((a)-[*..15]-(b))', /\bSHORTEST\b/),
  row(
    'shortestPath() that is not MATCH p = shortestPath((a)-[…]-(b)) of two nodes',
    'it supports only this form, and finds paths from a node back to itself',
    'write MATCH p = shortestPath((a)-[*..15]-(b)), without a minimum length or properties in […]',
    isOddShortestPath,
  ),
  row(
    'WHERE about the path that shortestPath() finds',
    'it finds the shortest path before it applies WHERE',
    'write MATCH p = (a)-[*..5]-(b) WHERE … ORDER BY length(p) LIMIT 1, or WITH p WHERE … for the path found',
    isFilteredShortestPath,
  ),
  row('a quantified path', unknown, 'write -[*1..3]->', /- > [+*]|\) \{ \d/),
  row(
    'WHERE inside a pattern',
    unknown,
    'write it after the pattern',
    /[([] \w+( : \w+)*( \{[^{}]*\})? WHERE\b/,
  ),
  row(
    'a named path of one node',
    'it leaves the name undefined',
    'name the node',
    /\bMATCH \w+ = \([^()]*\)(?! [-<])/,
  ),
  row(
    'a computed LIMIT or SKIP',
    'it accepts only numbers and parameters',
    'write a number or a parameter',
    /\b(LIMIT|SKIP|OFFSET) ([(+-]|\S+ [-+*/%^.[(])/,
  ),
  row('a planner hint', unknown, 'leave it out', /\bUSING (INDEX|SCAN|JOIN|RANGE|TEXT)\b/),
  row('FINISH', unknown, 'return something', /\bFINISH $/),
  row('a number that is not decimal', unknown, 'write it in decimal digits', /\b(0[xXo]|\d+_)/),
  row(
    'temporal values',
    'most of them differ from Neo4j',
    'times are ISO 8601 text, which compares as text',
    /\b(DATE|DATETIME|TIME|LOCALTIME|LOCALDATETIME|DURATION) (\. \w+ )?\(/,
  ),
  row(
    'id() and elementId()',
    'its numbers change each time the graph is loaded',
    'use the property id',
    /\b(ID|ELEMENTID) \(/,
  ),
  row('randomUUID()', 'it lacks this function', 'create it where you use it', /\bRANDOMUUID \(/),
  row('points', 'it has no points', 'keep the coordinates as numbers', /\bPOINT \(/),
  row('splitting by empty text', 'it adds empty text at both ends', 'use substring()', isSplitByNothing),
  row('round()', 'it rounds -2.5 to -3', 'write floor(x + 0.5)', /\bROUND \(/),
  row('toString() of what may be a float', 'it loses .0', 'return the number', givenTo(['TOSTRING'], float)),
  row(
    'toInteger() of text',
    "it returns null for '1.9'",
    'send the number',
    givenTo(['TOINTEGER'], text | word),
  ),
  row(
    'min() and max() of text and numbers',
    "it treats '10' as 10",
    'convert all values to text with toString() or to numbers with toFloat()',
    givenTo(['MIN', 'MAX'], text | word, number),
  ),
  row('range() with a step that may be 0', nulled, 'write the step as a number', isOddStep),
  row(
    'any(), all(), none() or single() of a list that may hold null',
    'it treats null as false',
    'leave null out first, [x IN list WHERE x IS NOT NULL]',
    (query, index) => isQuantifier(query, index) && (listAfter(query, index + 3) & nothing) !== 0,
  ),
  row(
    'an aggregate inside a map or list',
    'it aggregates only in items of WITH and RETURN',
    'aggregate in WITH … AS x first, then use x',
    ({ tokens }, index) => isAggregate(tokens, index) && isInsideOfValue(tokens, index),
  ),
  row(
    'RETURN of a node, relationship or path beside an aggregate, or of collect() of them',
    'it may return internal numbers',
    'write WITH n, … AS x RETURN n, x',
    isGroupedEntity,
  ),
  row('CASE x WHEN y', "it treats '1' as 1", 'write CASE WHEN x = y', /\bCASE (?!WHEN\b)/),
  row(
    'ordering lists',
    'it returns null',
    'compare their elements',
    sides(isOrdering, (left, right) => left & right & list),
  ),
  row(
    'comparing lists that may hold null',
    'it treats null as equal to null',
    'compare their elements',
    sides(isEquality, (left, right) => left & right & list && (left | right) & nothing),
  ),
  row(
    'comparing maps',
    "it treats '1' in them as 1",
    'compare their values',
    sides(isEquality, (left, right) => (left | right) & map),
  ),
  row(
    'comparing text with a number, or with what may be one',
    "'1' = 1 is true in Grafeo",
    'compare text with text and numbers with numbers: literals, parameters, properties of the graph, or what toString() and toFloat() give',
    isMixedComparison,
  ),
  row(
    'IN with text among numbers, or numbers among text',
    "1 IN ['1'] is true in Grafeo",
    'use one type for the list and the value',
    sides(isMembership, (one, among) => areMixed(one, elementOf(among))),
  ),
  row(
    'IN something that is not a list',
    nulled,
    'write [x]',
    (query, index) => isListWord(query, index, 'IN') && !isListOrNull(listAfter(query, index)),
  ),
  row(
    'UNWIND of something that is not a list',
    'it returns no rows',
    'write [x]',
    (query, index) => isListWord(query, index, 'UNWIND') && !isListOrNull(listAfter(query, index)),
  ),
  row(
    'adding a single value to a list',
    'it returns null',
    'write it as a list, [1] + [2]',
    sums((left, right) => (left ^ right) & list),
  ),
  row(
    'adding text and a value that may not be text',
    "it returns null for 1 + 'a'",
    'write toString(x)',
    sums((left, right) => !((left | right) & list) && areOddText(left, right)),
  ),
  row('the key __proto__ in a map', 'it leaves it out', 'choose another key', isProtoKey),
  row('a negative slice bound', 'it ignores it', 'count from the start with size(list)', (query, index) =>
    boundsAt(query, index).some((bound) => (plainNumber(query, bound) ?? 0) < 0),
  ),
  row(
    'a computed slice bound',
    'it ignores negative ones',
    'write a number, a parameter or size(list)',
    (query, index) => boundsAt(query, index).some((bound) => isComputed(query, bound)),
  ),
];

function row(what: string, why: string, instead: string, found: RegExp | At): Construct {
  return { what, why, instead, found };
}

/** @throws Refused (`cypher_not_supported`) naming the construct, its place, and what to write instead */
export function refuseUnsupported(query: Query): void {
  const { outline, offsets } = outlineOf(query.tokens);
  for (const { what, why, instead, found } of constructs) {
    const index =
      found instanceof RegExp
        ? indexAt(offsets, outline.search(found))
        : query.tokens.findIndex((_, at) => found(query, at));
    if (index === -1) continue;
    const place = placeOf(query.text, query.tokens[index]!.offset);
    throw refusedAt(
      'cypher_not_supported',
      place,
      `the embedded engine cannot do this: ${what} (${why}); ${instead}`,
    );
  }
}

/**
 * The tokens with a blank after each: words in capitals, but `x` for names, properties, labels and aliases, `$` for parameters, `'s'`
 * for text, and `=>` for the colon of a map.
 */
function outlineOf(tokens: readonly Token[]): {
  readonly outline: string;
  readonly offsets: readonly number[];
} {
  const offsets: number[] = [];
  let outline = '';
  for (const [index, token] of tokens.entries()) {
    offsets.push(outline.length);
    outline += `${outlineAt(tokens, token, index)} `;
  }
  return { outline, offsets };
}

function outlineAt(tokens: readonly Token[], token: Token, index: number): string {
  if (token.kind === 'word') return isNameAt(tokens, index) ? 'x' : token.word;
  if (token.kind === 'name') return 'x';
  if (token.kind === 'string') return token.text.length === 2 ? "''" : "'s'";
  if (token.kind === 'parameter') return '$';
  return isSign(token, ':') && isSign(tokens[token.within ?? -1], '{') ? '=>' : token.text;
}

/** Of the token that stands at a place of the outline; -1 for none. */
function indexAt(offsets: readonly number[], place: number): number {
  return place === -1 ? -1 : offsets.findLastIndex((offset) => offset <= place);
}

const literals = ['NULL', 'TRUE', 'FALSE'];
const keywords = [
  ...literals,
  ...`CREATE MERGE SET DELETE REMOVE DETACH MATCH OPTIONAL RETURN WHERE WITH UNION CASE WHEN THEN ELSE IN IS AND OR XOR NOT
  AS DISTINCT UNWIND`.split(/\s+/),
];

function isKeywordAsName({ tokens }: Query, index: number): boolean {
  if (isBorderWord(tokens[index]) && isVariableAt(tokens, index)) return true;
  if (!isWord(tokens[index], ...keywords)) return false;
  const isLiteral = isWord(tokens[index], ...literals) && isSign(tokens[index + 1], ')', ']', '|');
  return !isLiteral && isNameAt(tokens, index);
}

function isShortestPath({ tokens }: Query, index: number): boolean {
  return isWord(tokens[index], 'SHORTESTPATH', 'ALLSHORTESTPATHS') && isCall(tokens, index);
}

function isOddShortestPath(query: Query, index: number): boolean {
  const { tokens } = query;
  if (!isShortestPath(query, index)) return false;
  if (!isSign(tokens[index - 1], '=') || !isPatternName(tokens, index - 2)) return true;
  const inside = [...tokens.keys()].slice(index + 2, closingOf(tokens, index + 1));
  const isOdd = (at: number) => {
    const isLeast = isSign(tokens[at], '*') && tokens[at + 1]?.kind === 'number';
    const isInBrackets = isSign(tokens[at], '{') && isSign(tokens[tokens[at]!.within!], '[');
    return isInBrackets || (isLeast && Number(tokens[at + 1]!.text) > 1);
  };
  const nodes = inside.filter((at) => isSign(tokens[at], '(') && tokens[at]!.within === index + 1);
  const [start, end] = nodes.map((at) => tokens[at + 1]);
  const isLoop = isName(start) && start!.text === end?.text;
  return nodes.length !== 2 || isLoop || inside.some(isOdd);
}

function isFilteredShortestPath(query: Query, index: number): boolean {
  const { tokens } = query;
  if (!isShortestPath(query, index)) return false;
  const path = tokens[index - 2]?.text;
  const after = tokens.findIndex(
    (token, at) =>
      at > index && token.within === tokens[index]!.within && isClauseWord(tokens, at, ...clauses),
  );
  if (!isWord(tokens[after], 'WHERE')) return false;
  const end = tokens.findIndex((_, at) => at > after && isClauseWord(tokens, at, ...clauses));
  return tokens.slice(after, end === -1 ? undefined : end).some(({ text }) => text === path);
}

const clauses = ['WHERE', 'MATCH', 'OPTIONAL', 'WITH', 'RETURN', 'UNWIND', 'CALL', 'UNION'];

const maxDepth = 50;

function isTooDeep({ tokens }: Query, index: number): boolean {
  let depth = 0;
  for (let at = tokens[index]!.within; at !== null && depth <= maxDepth; at = tokens[at]!.within) depth++;
  return depth > maxDepth;
}

function isEquality({ tokens }: Query, index: number): boolean {
  if (!isSign(tokens[index], '=', '<>')) return false;
  const isPath =
    isSign(tokens[index + 1], '(') || isWord(tokens[index + 1], 'SHORTESTPATH', 'ALLSHORTESTPATHS');
  const isNamed = isWord(tokens[index - 2], 'MATCH') || isSign(tokens[index - 2], ',');
  return !(isNamed && isPath) && !(isSign(tokens[index - 2], '(') && isWord(tokens[index - 3], 'REDUCE'));
}

function isOrdering({ tokens }: Query, index: number): boolean {
  if (isSign(tokens[index], '>') && isSign(tokens[index - 1], '-')) return false;
  const isArrow = isSign(tokens[index + 1], '-') && isSign(tokens[index + 2], '-', '[');
  return isSign(tokens[index], '<', '>', '<=', '>=') && !(isSign(tokens[index], '<') && isArrow);
}

function isMembership({ tokens }: Query, index: number): boolean {
  const isCallIn = isWord(tokens[index - 1], 'CALL', '}');
  return isClauseWord(tokens, index, 'IN') && !isBinding(tokens, index) && !isCallIn;
}

/** What the two sides of an operator show. */
function sidesOf(query: Query, index: number, isEnd = isBorder): readonly [number, number] {
  const { tokens } = query;
  return [
    shown(query, [startOf(tokens, index, isEnd), index]),
    shown(query, [index + 1, endOf(tokens, index + 1, isEnd)]),
  ];
}

function areMixed(one: number, other: number): boolean {
  return ((one & text) !== 0 && (other & number) !== 0) || ((one & number) !== 0 && (other & text) !== 0);
}

function argumentsOf({ tokens }: Query, index: number): Span[] {
  return parts(tokens, [index + 2, closingOf(tokens, index + 1)]);
}

function isListOrNull(bits: number): boolean {
  return (bits & list) !== 0 || bits === nothing;
}

/** The bounds of the slice at its `..`. */
function boundsAt({ tokens }: Query, index: number): Span[] {
  const open = tokens[index]!.within ?? -1;
  if (!isSign(tokens[index], '..') || !isSign(tokens[open], '[') || isSign(tokens[open - 1], '-')) return [];
  return [
    [open + 1, index],
    [index + 1, tokens[open]!.pair ?? tokens.length],
  ];
}

/** A number or a parameter that is one, with its sign; null for everything else. */
function plainNumber(query: Query, [start, end]: Span): number | null {
  const { tokens } = query;
  const isMinus = isSign(tokens[start], '-');
  const token = tokens[end - 1];
  if (end - start !== (isMinus ? 2 : 1) || token === undefined) return null;
  const value = token.kind === 'parameter' ? parameterValue(query, token) : token.text;
  if (token.kind !== 'number' && typeof value !== 'number') return null;
  return isMinus ? -Number(value) : Number(value);
}

/** Whether what stands there is a part of a map or list, and not of a query within the query. */
function isInsideOfValue(tokens: readonly Token[], index: number): boolean {
  for (let at = tokens[index]!.within; at !== null; at = tokens[at]!.within) {
    const isSubquery =
      isWord(tokens[at - 1], 'CALL', 'EXISTS', 'COUNT', 'COLLECT') || isSign(tokens[at - 1], ')');
    if (isSign(tokens[at], '{') && isSubquery) return false;
    if (!isSign(tokens[at], '(')) return true;
  }
  return false;
}

/** Whether the two sides of such an operator show that. */
function sides(isOperator: At, test: (left: number, right: number) => number | boolean): At {
  return (query, index) => isOperator(query, index) && Boolean(test(...sidesOf(query, index)));
}

/** Whether the two sides of a `+` show that; null makes null of everything. */
function sums(test: (left: number, right: number) => number | boolean): At {
  const isArithmetic = (tokens: readonly Token[], at: number) =>
    isBorder(tokens, at) || isSign(tokens[at], '+', '-', '*', '/', '%', '^');
  return (query, index) => {
    if (!isSign(query.tokens[index], '+')) return false;
    const [left, right] = sidesOf(query, index, isArithmetic);
    return left !== nothing && right !== nothing && Boolean(test(left, right));
  };
}

/** Text on one side alone, or beside what may be a number. */
function areOddText(left: number, right: number): boolean {
  const isText = (side: number) => (side & (text | word)) !== 0;
  return isText(left) !== isText(right) || (isText(left) && ((left | right) & number) !== 0);
}

/** Whether the first argument of one of these functions shows all of that. */
function givenTo(names: readonly string[], ...bits: readonly number[]): At {
  return (query, index) => {
    if (!isWord(query.tokens[index], ...names) || !isCall(query.tokens, index)) return false;
    const given = shown(query, argumentsOf(query, index)[0] ?? [0, 0]);
    return bits.every((some) => (given & some) !== 0);
  };
}

function isInnerReturn({ tokens }: Query, index: number): boolean {
  const open = isWord(tokens[index], 'RETURN') ? (tokens[index]!.within ?? -1) : -1;
  return isSign(tokens[open], '{') && isWord(tokens[open - 1], 'EXISTS', 'COUNT');
}

function isSplitByNothing({ tokens }: Query, index: number): boolean {
  if (!isWord(tokens[index], 'SPLIT') || !isCall(tokens, index)) return false;
  const last = tokens[closingOf(tokens, index + 1) - 1];
  return last?.kind === 'string' && last.text.length === 2;
}

function isOddStep(query: Query, index: number): boolean {
  if (!isWord(query.tokens[index], 'RANGE') || !isCall(query.tokens, index)) return false;
  const by = argumentsOf(query, index)[2];
  return by !== undefined && !(Math.abs(plainNumber(query, by) ?? 0) > 0);
}

function isQuantifier({ tokens }: Query, index: number): boolean {
  return (
    isWord(tokens[index], 'ANY', 'ALL', 'NONE', 'SINGLE') &&
    isCall(tokens, index) &&
    isWord(tokens[index + 3], 'IN')
  );
}

function isGroupedEntity(query: Query, index: number): boolean {
  const { tokens } = query;
  if (!isClauseWord(tokens, index, 'RETURN')) return false;
  const items = itemsAfter(tokens, index);
  const end = items.at(-1)?.[1] ?? index;
  if (!tokens.slice(index, end).some((_, nth) => isAggregate(tokens, index + nth))) return false;
  const withoutAlias = ([start, end]: Span): Span => [start, isWord(tokens[end - 2], 'AS') ? end - 2 : end];
  return items.some((item) => (shown(query, withoutAlias(item)) & entity) !== 0);
}

/** `one = other`, `one < other`, or `(n {key: value})`; two properties of one key are of one kind. */
function isMixedComparison(query: Query, index: number): boolean {
  const { tokens } = query;
  if (isPatternValue(tokens, index))
    return areMixed(
      shownProperty(tokens[index - 1]!.text),
      shown(query, [index + 1, endOf(tokens, index + 1)]),
    );
  if (!isEquality(query, index) && !isOrdering(query, index)) return false;
  const keyOf = ([start, end]: Span) =>
    end - start === 3 && isSign(tokens[start + 1], '.') ? tokens[end - 1]!.text : null;
  const key = keyOf([startOf(tokens, index), index]);
  if (key !== null && key === keyOf([index + 1, endOf(tokens, index + 1)])) return false;
  return areMixed(...sidesOf(query, index));
}

/** Whether it is the colon of a property in a pattern. */
function isPatternValue(tokens: readonly Token[], index: number): boolean {
  const open = tokens[index]!.within ?? -1;
  if (!isSign(tokens[index], ':') || !isSign(tokens[open], '{')) return false;
  for (let at = open - 1; at >= 0; at--) {
    if (isSign(tokens[at], '[')) return isSign(tokens[at - 1], '-');
    if (isSign(tokens[at], '(')) return !isCall(tokens, at - 1) && (at < open - 1 || isNode(tokens, at));
    if (!(isSign(tokens[at], ':', '|', '*', '..') || tokens[at]!.kind !== 'sign')) return false;
  }
  return false;
}

/** Whether a bracket right before a map opens a node, as in `MATCH ({a: 1})`, and not an expression, as in `RETURN ({a: 1})`. */
function isNode(tokens: readonly Token[], open: number): boolean {
  const [before, after] = [tokens[open - 1], tokens[closingOf(tokens, open) + 1]];
  if (isSign(before, '-', '>') || isSign(after, '-', '<') || isWord(before, 'MATCH')) return true;
  return isSign(before, ',') && !isInsideOfValue(tokens, open);
}

function isProtoKey({ tokens }: Query, index: number): boolean {
  const open = tokens[index]!.within ?? -1;
  return isSign(tokens[open], '{') && isName(tokens[index]) && tokens[index]!.text === '__proto__';
}

function isListWord({ tokens }: Query, index: number, word: 'IN' | 'UNWIND'): boolean {
  return isClauseWord(tokens, index, word) && !isWord(tokens[index - 1], 'CALL', '}');
}

/** What the expression after a token shows. */
function listAfter(query: Query, index: number): number {
  return shown(query, [index + 1, endOf(query.tokens, index + 1)]);
}

function isComputed(query: Query, [start, end]: Span): boolean {
  if (start === end || plainNumber(query, [start, end]) !== null) return false;
  return !(isWord(query.tokens[start], 'SIZE') && query.tokens[start + 1]?.pair === end - 1);
}
