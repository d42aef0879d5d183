import { placeOf, refusedAt } from '../refusals.ts';
import { isClauseWord, isName, isSign, isWord, type Token, tokensOf } from './tokens.ts';

const writing = ['CREATE', 'MERGE', 'SET', 'DELETE', 'REMOVE', 'FOREACH', 'INSERT', 'DETACH', 'NODETACH'];
const commanding = [
  'DROP',
  'ALTER',
  'RENAME',
  'GRANT',
  'DENY',
  'REVOKE',
  'TERMINATE',
  'SHOW',
  'START',
  'STOP',
  'USE',
];
const wrapping = ['EXPLAIN', 'PROFILE', 'CYPHER'];

/** Procedures that only read the graph; nothing else is called, on no engine. */
export const readingProcedures: readonly string[] = [
  'db.labels',
  'db.relationshipTypes',
  'db.propertyKeys',
  'db.index.fulltext.queryNodes',
  'db.index.fulltext.queryRelationships',
];

/** Functions whose name has a dot; every other one of these is some plugin's. */
const namespaces = /^(date|datetime|localdatetime|localtime|time|duration|point|vector\.similarity)\./;

/**
 * The first gate of both engines, which gives the clearest answer: what the text says. The engine's own plan is the second one,
 * and does not depend on this.
 * @throws Refused (`cypher_read_only`)
 */
export function refuseWrites(query: string): Token[] {
  const tokens = tokensOf(query);
  const refuse = (index: number, why: string) => {
    throw refusedAt('cypher_read_only', placeOf(query, tokens[index]?.offset ?? 0), why);
  };
  const last = tokens.findLastIndex((token) => !isSign(token, ';'));
  for (const [index, token] of tokens.entries()) {
    const word = token.text.toUpperCase();
    if (startsClause(tokens, index, writing))
      refuse(
        index,
        `${word} writes; queries here only read (memories are recorded by POST /v1/memory/record)`,
      );
    if (isClauseWord(tokens, index, 'LOAD') && isWord(tokens[index + 1], 'CSV'))
      refuse(index, 'LOAD CSV reads files and addresses; queries here only read the graph');
    if (startsStatement(tokens, index) && isWord(token, ...commanding))
      refuse(index, `${word} is no query of the graph; begin with MATCH, UNWIND, WITH, CALL or RETURN`);
    if (startsStatement(tokens, index) && isWord(token, ...wrapping))
      refuse(index, `${word} is not taken; send the query itself`);
    if (isSign(token, ';') && index < last)
      refuse(index, 'one request holds one statement; send the second one by itself');
    if (isWord(token, 'TRANSACTIONS') && isWord(tokens[index - 1], 'IN', 'CONCURRENT'))
      refuse(index, 'IN TRANSACTIONS is for writing; use CALL { … } alone');
    refuseCalls(tokens, index, refuse);
  }
  return tokens;
}

function refuseCalls(
  tokens: readonly Token[],
  index: number,
  refuse: (index: number, why: string) => void,
): void {
  const name = dottedName(tokens, index);
  if (
    isClauseWord(tokens, index - 1, 'CALL') &&
    name !== null &&
    !readingProcedures.some((known) => known.toLowerCase() === name.text.toLowerCase())
  )
    refuse(index, `the procedure ${name.text} is not allowed; allowed are ${readingProcedures.join(', ')}`);
  if (name === null || !name.text.includes('.') || !isSign(tokens[name.end], '(')) return;
  if (isWord(tokens[index - 1], 'CALL')) return;
  if (!namespaces.test(name.text.toLowerCase()))
    refuse(index, `the function ${name.text} is not allowed; use the functions of Cypher itself`);
}

/** `a.b.c` that begins there, blanks, comments and backticks aside. `end` is the index of the token after it. */
function dottedName(tokens: readonly Token[], index: number): { text: string; end: number } | null {
  if (!isName(tokens[index]) || isSign(tokens[index - 1], '.')) return null;
  let text = tokens[index]!.text;
  let end = index + 1;
  while (isSign(tokens[end], '.') && isName(tokens[end + 1])) {
    text += `.${tokens[end + 1]!.text}`;
    end += 2;
  }
  return { text, end };
}

/** Not a variable, a function or a map's key of that name. */
function startsClause(tokens: readonly Token[], index: number, words: readonly string[]): boolean {
  if (!isClauseWord(tokens, index, ...words)) return false;
  const [before, after] = [tokens[index - 1], tokens[index + 1]];
  const isValue = isSign(before, ',', '{', '[', '=', '+', '-') && !isSign(after, '(');
  return !isValue && !isSign(after, '.', ':', ',', ')', ']', '=', '}') && after !== undefined;
}

function startsStatement(tokens: readonly Token[], index: number): boolean {
  return index === 0 || isSign(tokens[index - 1], ';', '{') || isWord(tokens[index - 1], 'UNION', 'ALL');
}
