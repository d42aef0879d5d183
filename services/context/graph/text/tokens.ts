import { type Place, placeOf } from '../refusals.ts';

/** A piece of Cypher. `text` is as written, but for names in backticks, which stand without them. */
export interface Token {
  readonly kind: 'word' | 'name' | 'string' | 'number' | 'parameter' | 'sign';
  readonly text: string;
  readonly offset: number;
  readonly end: number;
  /** Of a word, in capitals; empty for all else. */
  readonly word: string;
  /** Index of the bracket that belongs to this one; of a bracket alone, and of all else, none. */
  pair: number | null;
  /** Index of the bracket that the token stands in. */
  within: number | null;
}

const patterns: readonly (readonly [Token['kind'] | 'nothing', RegExp])[] = [
  ['nothing', /\s+|\/\/[^\n\r]*|\/\*[\s\S]*?(?:\*\/|$)/uy],
  ['string', /'(?:\\[\s\S]|[^'\\])*'?|"(?:\\[\s\S]|[^"\\])*"?/uy],
  ['name', /`(?:``|[^`])*`?/uy],
  ['parameter', /\$\s*(?:`(?:``|[^`])*`?|[\p{L}\p{N}_]+)/uy],
  ['number', /0[xX][0-9a-fA-F]+|0o[0-7]+|\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+/uy],
  ['word', /[\p{L}\p{Nl}\p{Pc}][\p{L}\p{Nl}\p{N}\p{Pc}\p{Mn}\p{Mc}]*/uy],
  ['sign', /\.\.|<>|<=|>=|=~|\|\||[\s\S]/uy],
];

/** Cuts a query as both engines do: what stands in strings, backticks and comments is no syntax. Never throws. */
export function tokensOf(query: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  while (offset < query.length) {
    const [kind, end] = next(query, offset);
    if (kind !== 'nothing') {
      const text = query.slice(offset, end);
      tokens.push({
        kind,
        text: kind === 'name' ? text.slice(1, -1) : text,
        offset,
        end,
        word: kind === 'word' ? text.toUpperCase() : '',
        pair: null,
        within: null,
      });
    }
    offset = end;
  }
  pairBrackets(tokens);
  return tokens;
}

/** Once for all: looking for a bracket's other end each time would take the square of a query's length. */
function pairBrackets(tokens: readonly Token[]): void {
  const open: number[] = [];
  for (const [index, token] of tokens.entries()) {
    if (isSign(token, ')', ']', '}')) {
      const start = open.pop();
      if (start !== undefined) [tokens[start]!.pair, token.pair] = [index, start];
    }
    token.within = open.at(-1) ?? null;
    if (isSign(token, '(', '[', '{')) open.push(index);
  }
}

function next(query: string, offset: number): readonly [Token['kind'] | 'nothing', number] {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = offset;
    const match = pattern.exec(query);
    if (match !== null && match[0] !== '') return [kind, offset + match[0].length];
  }
  return ['sign', offset + 1];
}

/** Whether a token is this word, in any case, and no name in backticks. */
export function isWord(token: Token | undefined, ...words: readonly string[]): boolean {
  return token?.kind === 'word' && words.includes(token.word);
}

export function isName(token: Token | undefined): boolean {
  return token?.kind === 'word' || token?.kind === 'name';
}

export function isSign(token: Token | undefined, ...signs: readonly string[]): boolean {
  return token?.kind === 'sign' && signs.includes(token.text);
}

/** Whether the word there is a clause's own and not a property, a label, an alias or a key. */
export function isClauseWord(tokens: readonly Token[], index: number, ...words: readonly string[]): boolean {
  const before = tokens[index - 1];
  return isWord(tokens[index], ...words) && !isSign(before, '.', ':') && !isWord(before, 'AS');
}

/** Index of the bracket that ends the one at `open`; the number of tokens when none does. */
export function closingOf(tokens: readonly Token[], open: number): number {
  return tokens[open]?.pair ?? tokens.length;
}

/** Of a parameter, without its `$` and backticks. */
export function parameterName({ text }: Token): string {
  const name = text.slice(1).trim();
  return name.startsWith('`') ? name.slice(1, -1).replaceAll('``', '`') : name;
}

/** Where `name` stands first in the query, for messages of an engine that name a thing and no place. */
export function placeOfName(query: string, name: string): Place | null {
  const found = tokensOf(query).find((token) => token.text === name && !isWord(token, 'AS'));
  return found === undefined ? null : placeOf(query, found.offset);
}
