import { step } from '../text/steps.ts';
import { closingOf, isSign, isWord, type Token } from '../text/tokens.ts';
import { textual } from './property-kinds.ts';
import type { Query } from './query.ts';

const why =
  "comparing text with a number: here '1' = 1 is true; compare text with text, numbers with numbers";

/** Grafeo finds `'1'` and `1` equal; lists with null in them too. */
export function comparisonProblem(query: Query, index: number): string | null {
  const { tokens } = query;
  if (isSign(tokens[index], '=', '<>')) return equality(query, index);
  if (isWord(tokens[index], 'IN') && isSign(tokens[index + 1], '[')) return membership(query, index);
  if (isSign(tokens[index], '{')) return patternMap(query, index);
  return isSign(tokens[index], '+') ? appended(tokens, index) : null;
}

function equality({ tokens, params }: Query, index: number): string | null {
  const [left, right] = [tokens[index - 1], tokens[index + 1]];
  const kinds = [left, right].map((token) => literalKind(token, params));
  if (kinds.includes('numeral') && kinds.includes('number')) return why;
  if ([index - 1, index + 1].some((at) => isSign(tokens[at], '[', ']') && holdsNull(tokens, at)))
    return 'comparing lists with null in them; compare their elements';
  const other = kinds[0] === null ? propertyBefore(tokens, index) : propertyAfter(tokens, index);
  if (kinds.includes('numeral') && (other === null || !textual.has(other))) return why;
  return kinds.includes('number') && other !== null && textual.has(other) ? why : null;
}

function membership({ tokens, params }: Query, index: number): string | null {
  const inside = tokens.slice(index + 2, closingOf(tokens, index + 1));
  step(tokens, inside.length);
  const kinds = inside.map((token) => literalKind(token, params));
  const property = propertyBefore(tokens, index);
  const isText = property !== null && textual.has(property);
  const left = literalKind(tokens[index - 1], params);
  if (left === 'number' || left === 'numeral')
    return kinds.some((k) => k !== left && isNumeric(k)) ? why : null;
  return kinds.includes(isText ? 'number' : 'numeral') ? why : null;
}

/** `(n:Label {key: '1'})` */
function patternMap({ tokens, params }: Query, index: number): string | null {
  const before = tokens[index - 1];
  const isPattern = (before?.kind === 'word' || before?.kind === 'name') && inPattern(tokens, index);
  if (!isPattern && !(isSign(before, '(') && tokens[index - 2]?.kind !== 'word')) return null;
  const close = closingOf(tokens, index);
  step(tokens, close - index);
  for (let at = index + 1; at < close; at++) {
    if (!isSign(tokens[at], ':')) continue;
    const kind = literalKind(tokens[at + 1], params);
    const isText = textual.has(tokens[at - 1]!.text);
    if ((kind === 'numeral' && !isText) || (kind === 'number' && isText)) return why;
  }
  return null;
}

function inPattern(tokens: readonly Token[], index: number): boolean {
  for (let at = index - 1; at >= 0; at--) {
    step(tokens);
    if (isSign(tokens[at], '(', '[')) return true;
    if (!(isSign(tokens[at], ':', '|', '*', '..') || tokens[at]!.kind !== 'sign')) return false;
  }
  return false;
}

function holdsNull(tokens: readonly Token[], bracket: number): boolean {
  const [start, end] = [bracket, tokens[bracket]!.pair ?? bracket].sort((a, b) => a - b) as [number, number];
  step(tokens, end - start);
  return tokens.slice(start, end).some((token) => isWord(token, 'NULL'));
}

/** A list and a single value: null instead of a longer list. */
function appended(tokens: readonly Token[], index: number): string | null {
  const isSingle = (token: Token | undefined) => token?.kind === 'number' || token?.kind === 'string';
  const listLeft = isSign(tokens[index - 1], ']') && isLiteralList(tokens, index - 1);
  if (
    (listLeft && isSingle(tokens[index + 1])) ||
    (isSign(tokens[index + 1], '[') && isSingle(tokens[index - 1]))
  )
    return 'adding a single value to a list; write it as a list, [1] + [2]';
  return null;
}

function isLiteralList(tokens: readonly Token[], close: number): boolean {
  const open = tokens[close]!.pair ?? 0;
  const before = tokens[open - 1];
  if (isWord(before, 'RETURN', 'WITH', 'UNWIND', 'WHERE', 'AND', 'OR', 'IN', 'THEN', 'ELSE', 'DISTINCT'))
    return true;
  return !(before?.kind === 'word' || before?.kind === 'name' || isSign(before, ')', ']'));
}

type LiteralKind = 'numeral' | 'number' | null;

function literalKind(token: Token | undefined, params: Readonly<Record<string, unknown>>): LiteralKind {
  if (token?.kind === 'number') return 'number';
  if (token?.kind === 'string') return looksNumeric(token.text.slice(1, -1)) ? 'numeral' : null;
  if (token?.kind !== 'parameter') return null;
  const value = params[token.text.slice(1).trim()];
  if (typeof value === 'number') return 'number';
  return typeof value === 'string' && looksNumeric(value) ? 'numeral' : null;
}

function isNumeric(kind: LiteralKind): boolean {
  return kind === 'number' || kind === 'numeral';
}

function looksNumeric(text: string): boolean {
  return text.trim() !== '' && !Number.isNaN(Number(text));
}

/** `n.key =` */
function propertyBefore(tokens: readonly Token[], index: number): string | null {
  return isSign(tokens[index - 2], '.') ? tokens[index - 1]!.text : null;
}

/** `= n.key` */
function propertyAfter(tokens: readonly Token[], index: number): string | null {
  return isSign(tokens[index + 2], '.') ? (tokens[index + 3]?.text ?? null) : null;
}
