import { placeOf, refusedAt } from '../text/place.ts';
import { closingOf, isClauseWord, isSign, isWord, type Token } from '../text/tokens.ts';
import { aggregateProblem } from './aggregates.ts';
import { comparisonProblem } from './comparisons.ts';
import type { Problem, Query } from './query.ts';
import { typedProblem } from './typed.ts';

const temporal = ['DATE', 'DATETIME', 'TIME', 'LOCALTIME', 'LOCALDATETIME', 'DURATION'];

const problems: readonly Problem[] = [
  labelExpression,
  subquery,
  functionCall,
  pattern,
  limit,
  slice,
  hint,
  aggregateProblem,
  comparisonProblem,
  typedProblem,
];

/**
 * What Grafeo 0.6.0 was measured to do differently from Neo4j 5, told apart by the text alone.
 * @throws Refused (`cypher_not_supported`) naming the construct, its place, and what to write instead
 */
export function refuseUnsupported(query: Query): void {
  for (let index = 0; index < query.tokens.length; index++) {
    for (const problem of problems) {
      const why = problem(query, index);
      if (why === null) continue;
      const place = placeOf(query.text, query.tokens[index]!.offset);
      throw refusedAt('cypher_not_supported', place, `the embedded engine cannot do this: ${why}`);
    }
  }
}

function labelExpression({ tokens }: Query, index: number): string | null {
  if (!isSign(tokens[index], ':') || enclosing(tokens, index) === '{') return null;
  const why = 'a label expression; write n:A OR n:B, n:A AND n:B, NOT n:A in WHERE';
  if (isSign(tokens[index + 1], '!', '%', '(', '$')) return why;
  if (tokens[index + 1]?.kind === 'parameter') return 'a label in a parameter; write the label itself';
  if (isSign(tokens[index + 2], '&')) return why;
  return isSign(tokens[index + 2], '|') && enclosing(tokens, index) === '(' ? why : null;
}

function subquery({ tokens }: Query, index: number): string | null {
  if (isWord(tokens[index], 'COLLECT') && isSign(tokens[index + 1], '{'))
    return 'COLLECT { … }; write OPTIONAL MATCH and collect(…)';
  const open = isWord(tokens[index], 'RETURN') ? enclosingStart(tokens, index) : -1;
  const before = tokens[open - 1];
  if (!isSign(tokens[open], '{') || !isWord(before, 'EXISTS', 'COUNT')) return null;
  return `RETURN inside ${before!.text} { … }; leave it out`;
}

function functionCall({ tokens }: Query, index: number): string | null {
  const token = tokens[index];
  if (isSign(tokens[index - 1], '.') || token?.kind !== 'word') return null;
  const isDotted = isSign(tokens[index + 1], '.') && isSign(tokens[index + 3], '(');
  if (isWord(token, ...temporal) && (isSign(tokens[index + 1], '(') || isDotted))
    return 'temporal values; times are ISO 8601 strings, which compare as text';
  if (!isSign(tokens[index + 1], '(')) return null;
  if (isWord(token, 'ID', 'ELEMENTID')) return `${token.text}(); the property id names a node`;
  if (isWord(token, 'RANDOMUUID')) return 'randomUUID(); make it where you use it';
  if (isWord(token, 'POINT')) return 'points; keep the coordinates as numbers';
  const last = tokens[closingOf(tokens, index + 1) - 1];
  if (isWord(token, 'SPLIT') && last?.kind === 'string' && last.text.length === 2)
    return 'splitting by nothing; use substring()';
  const isFloat = tokens[index + 2]?.kind === 'number' && /[.eE]/.test(tokens[index + 2]!.text);
  return isWord(token, 'TOSTRING') && isFloat ? 'toString() of a float; return the number' : null;
}

function pattern({ tokens }: Query, index: number): string | null {
  const signs = (...expected: string[]) => expected.every((sign, nth) => isSign(tokens[index + nth], sign));
  if (signs('<', '-', '-', '>')) return 'the pattern <-->; write --';
  if (isClauseWord(tokens, index, 'SHORTEST')) return 'SHORTEST; write shortestPath((a)-[*..15]-(b))';
  if (
    signs('-', '>', '+') ||
    signs('-', '>', '*') ||
    (signs(')', '{') && tokens[index + 2]?.kind === 'number')
  )
    return 'a quantified path; write -[*1..3]->';
  const start = isWord(tokens[index], 'WHERE') ? enclosingStart(tokens, index) : -1;
  const inPattern = isSign(tokens[start], '(') && !isNameBefore(tokens, start);
  if (inPattern && tokens[start + 1]?.kind === 'word')
    return 'WHERE inside a pattern; write it after the pattern';
  const opensPattern = isSign(tokens[index], '(') && !isNameBefore(tokens, index);
  if (!opensPattern) return null;
  const close = closingOf(tokens, index);
  const isNamed = isSign(tokens[index - 1], '=') && isWord(tokens[index - 3], 'MATCH');
  return isNamed && !isSign(tokens[close + 1], '-', '<') ? 'a named path of one node; name the node' : null;
}

function limit({ tokens }: Query, index: number): string | null {
  if (!isClauseWord(tokens, index, 'LIMIT', 'SKIP', 'OFFSET')) return null;
  const [value, after] = [tokens[index + 1], tokens[index + 2]];
  const isPlain = value?.kind === 'number' || value?.kind === 'parameter';
  const isOperator = isSign(after, '+', '-', '*', '/', '%', '^', '.', '[');
  if (isPlain && !isOperator) return null;
  const startsValue = isSign(value, '(', '+', '-') || isSign(tokens[index + 2], '(') || isOperator;
  return startsValue ? `a computed ${tokens[index]!.text}; write a number or a parameter` : null;
}

function slice({ tokens, params }: Query, index: number): string | null {
  if (!isSign(tokens[index], '..')) return null;
  const open = enclosingStart(tokens, index);
  if (open === -1 || !isSign(tokens[open], '[')) return null;
  const isNegative = (token: Token | undefined) =>
    isSign(token, '-') || (token?.kind === 'parameter' && Number(params[token.text.slice(1)]) < 0);
  if (!isNegative(tokens[index + 1]) && !isNegative(tokens[open + 1])) return null;
  return 'a negative bound of a slice; count from the start with size(list)';
}

function hint({ tokens }: Query, index: number): string | null {
  const token = tokens[index];
  if (
    isClauseWord(tokens, index, 'USING') &&
    isWord(tokens[index + 1], 'INDEX', 'SCAN', 'JOIN', 'RANGE', 'TEXT')
  )
    return 'a planner hint; leave it out';
  if (isClauseWord(tokens, index, 'FINISH') && tokens[index + 1] === undefined)
    return 'FINISH; return something';
  const isOdd = token?.kind === 'number' && /^0[xXo]|_/.test(token.text);
  return isOdd ? `the number ${token!.text}; write it in decimal digits` : null;
}

/** The bracket that the token stands in: `(`, `[`, `{`, or none. */
function enclosing(tokens: readonly Token[], index: number): string | null {
  return tokens[enclosingStart(tokens, index)]?.text ?? null;
}

function enclosingStart(tokens: readonly Token[], index: number): number {
  return tokens[index]?.within ?? -1;
}

function isNameBefore(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1];
  const isKeyword = isWord(
    before,
    'MATCH',
    'WHERE',
    'AND',
    'OR',
    'NOT',
    'XOR',
    'RETURN',
    'WITH',
    'IN',
    'THEN',
    'ELSE',
    'WHEN',
  );
  return (before?.kind === 'word' || before?.kind === 'name') && !isKeyword;
}
