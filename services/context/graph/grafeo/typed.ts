import { step } from '../text/steps.ts';
import { isClauseWord, isSign, isWord, type Token } from '../text/tokens.ts';
import {
  elementOf,
  endOf,
  isBinding,
  isBorder,
  isNumber,
  isText,
  type Kind,
  kindOf,
  parts,
  startOf,
} from './kinds.ts';
import type { Query } from './query.ts';

const mixed =
  "comparing values that are not known to be of one kind: here '1' = 1 is true; compare properties or parameters, or make both text with toString() or numbers with toFloat()";

/** What Grafeo answers wrongly for values of some kinds, wherever they come from. */
export function typedProblem(query: Query, index: number): string | null {
  const { tokens } = query;
  if (isSign(tokens[index], '=', '<>', '<', '>', '<=', '>=')) return comparison(query, index);
  if (isClauseWord(tokens, index, 'IN')) return membership(query, index);
  if (isSign(tokens[index], '+')) return addition(query, index);
  if (isSign(tokens[index], '..')) return bounds(query, index);
  if (isClauseWord(tokens, index, 'UNWIND')) return unwinding(query, index);
  const isCall =
    tokens[index]?.kind === 'word' && isSign(tokens[index + 1], '(') && !isSign(tokens[index - 1], '.');
  return isCall ? call(query, index) : null;
}

function comparison(query: Query, index: number): string | null {
  const { tokens } = query;
  const [before, after] = [tokens[index - 1], tokens[index + 1]];
  if (isSign(tokens[index], '>') && isSign(before, '-')) return null;
  if (isSign(tokens[index], '<') && isSign(after, '-') && isSign(tokens[index + 2], '-', '[')) return null;
  const isPath = isSign(after, '(') || isWord(after, 'SHORTESTPATH', 'ALLSHORTESTPATHS');
  const isNamed = isWord(tokens[index - 2], 'MATCH', 'REDUCE') || isSign(tokens[index - 2], ',');
  if (isNamed && isPath) return null;
  if (isSign(tokens[index - 2], '(') && isWord(tokens[index - 3], 'REDUCE')) return null;
  const left = [startOf(tokens, index), index] as const;
  const right = [index + 1, endOf(tokens, index + 1)] as const;
  const kinds = [kindOf(query, left), kindOf(query, right)] as const;
  const isOrder = !isSign(tokens[index], '=', '<>');
  if (isOrder && kinds.some((kind) => typeof kind === 'object'))
    return 'ordering lists; compare their elements';
  if (isOneProperty(tokens, left, right)) return null;
  return comparable(kinds[0], kinds[1], isOrder) ? null : mixed;
}

/** `a.key = b.key` */
function isOneProperty(
  tokens: readonly Token[],
  left: readonly [number, number],
  right: readonly [number, number],
) {
  const [one, other] = [left, right].map(([start, end]) =>
    end - start === 3 && isSign(tokens[start + 1], '.') ? tokens[end - 1]!.text : null,
  );
  return one !== null && one === other;
}

function comparable(one: Kind, other: Kind, isOrder: boolean): boolean {
  if (typeof one === 'object' && typeof other === 'object') return comparable(one.each, other.each, isOrder);
  const kinds = [one, other];
  if (kinds.includes('null')) return true;
  if (kinds.every(isNumber) || kinds.every(isText)) return true;
  if (!isOrder && kinds.includes('word')) return true;
  if (kinds.includes('unknown')) return kinds.includes('boolean') || kinds.includes('entity');
  if (kinds.includes('property')) return !kinds.includes('text') && one !== other;
  return one === other;
}

function membership(query: Query, index: number): string | null {
  const { tokens } = query;
  const list = kindOf(query, [index + 1, endOf(tokens, index + 1)]);
  if (typeof list !== 'object' && list !== 'unknown' && list !== 'property' && list !== 'null')
    return 'IN something that is no list; write [x]';
  if (isBinding(tokens, index) || isWord(tokens[index - 1], 'CALL', '}')) return null;
  const value = kindOf(query, [startOf(tokens, index), index]);
  return comparable(value, elementOf(list), false) ? null : mixed;
}

const arithmetic = (tokens: readonly Token[], at: number) =>
  isBorder(tokens, at) || isSign(tokens[at], '+', '-', '*', '/', '%', '^');

function addition(query: Query, index: number): string | null {
  const { tokens } = query;
  const left = kindOf(query, [startOf(tokens, index, arithmetic), index]);
  const right = kindOf(query, [index + 1, endOf(tokens, index + 1, arithmetic)]);
  const kinds = [left, right];
  if (kinds.includes('null')) return null;
  const lists = kinds.filter((kind) => typeof kind === 'object').length;
  if (lists === 1) return 'adding a single value to a list; write it as a list, [1] + [2]';
  const texts = kinds.filter(isText).length;
  return texts === 1 ? 'adding text and what is not known to be text; write toString(x)' : null;
}

function bounds({ tokens, params }: Query, index: number): string | null {
  const open = tokens[index]!.within ?? -1;
  if (!isSign(tokens[open], '[') || isSign(tokens[open - 1], '-')) return null;
  const spans = [
    [open + 1, index],
    [index + 1, tokens[open]!.pair ?? tokens.length],
  ] as const;
  const isKnown = ([start, end]: readonly [number, number]) => {
    const token = tokens[start];
    if (start === end || (end - start === 1 && token?.kind === 'number')) return true;
    if (end - start === 1 && token?.kind === 'parameter')
      return Number(params[token.text.slice(1)] ?? 0) >= 0;
    return isWord(token, 'SIZE') && tokens[start + 1]?.pair === end - 1;
  };
  if (spans.every(isKnown)) return null;
  return 'a computed bound of a slice, which may be negative; write a number, a parameter or size(list)';
}

function unwinding(query: Query, index: number): string | null {
  const kind = kindOf(query, [index + 1, endOf(query.tokens, index + 1)]);
  if (typeof kind === 'object' || kind === 'unknown' || kind === 'null') return null;
  return 'UNWIND of something that is no list; write [x]';
}

function call(query: Query, index: number): string | null {
  const { tokens } = query;
  const close = tokens[index + 1]!.pair ?? tokens.length;
  const inside = parts(tokens, [index + 2, close]);
  const first = kindOf(query, inside[0] ?? [close, close]);
  if (isWord(tokens[index], 'ROUND')) return 'round(), which rounds -2.5 to -3; write floor(x + 0.5)';
  if (isWord(tokens[index], 'TOSTRING') && (first === 'float' || first === 'unknown'))
    return 'toString() of what may be a float, which loses .0; return the number';
  if (
    isWord(tokens[index], 'TOINTEGER') &&
    (isText(first) || first === 'unknown') &&
    !isDigits(query, inside[0])
  )
    return "toInteger() of text, which gives null for '1.9'; send the number";
  if (isWord(tokens[index], 'RANGE') && inside[2] !== undefined && !isStep(query, inside[2]))
    return 'range() with a step that may be 0; write the step as a number';
  if (isWord(tokens[index], 'ANY', 'ALL', 'NONE', 'SINGLE')) return quantified(query, index);
  return null;
}

function isDigits({ tokens }: Query, span: readonly [number, number] | undefined): boolean {
  return span !== undefined && span[1] - span[0] === 1 && /^['"]-?\d+['"]$/.test(tokens[span[0]]!.text);
}

function isStep({ tokens, params }: Query, [start, end]: readonly [number, number]): boolean {
  const token = tokens[end - 1]!;
  if (end - start > 2 || (end - start === 2 && !isSign(tokens[start], '-'))) return false;
  const value =
    token.kind === 'parameter' ? params[token.text.slice(1)] : token.kind === 'number' ? token.text : 0;
  return Number(value) !== 0;
}

function quantified(query: Query, index: number): string | null {
  const { tokens } = query;
  if (!isWord(tokens[index + 3], 'IN')) return null;
  const list = kindOf(query, [index + 4, endOf(tokens, index + 4)]);
  const span = tokens.slice(index + 4, endOf(tokens, index + 4));
  step(tokens, span.length);
  const holdsNull = span.some((token) => {
    const value = token.kind === 'parameter' ? query.params[token.text.slice(1)] : undefined;
    return isWord(token, 'NULL') || (Array.isArray(value) && value.includes(null));
  });
  if (!holdsNull && elementOf(list) !== 'null') return null;
  return `${tokens[index]!.text}() of a list that holds null; leave null out first, [x IN list WHERE x IS NOT NULL]`;
}
