import type { Part } from './extraction.ts';
import type { FoundSymbol } from './symbols.ts';
import { cut, lineStarts } from './text.ts';

const longestSignature = 240;
const longestBody = 50_000;

/** Symbols as parts: each with the comment above it, and without the text of the symbols that it holds. */
export function symbolParts(text: string, symbols: readonly FoundSymbol[]): Part[] {
  const starts = lineStarts(text);
  const from = symbols.map((symbol) => commentStart(text, starts, symbol));
  const children = symbols.map((): number[] => []);
  for (const [at, { parent }] of symbols.entries()) if (parent >= 0) children[parent]!.push(at);
  const names = new Map<string, number>();
  return symbols.map((symbol, at) => {
    const nth = (names.get(symbol.name) ?? 0) + 1;
    names.set(symbol.name, nth);
    return {
      node: 'symbol',
      name: symbol.name,
      nth,
      title: symbol.name,
      sort: symbol.sort,
      start: symbol.start,
      end: symbol.end,
      parent: symbol.parent,
      body: cut(ownText(at), longestBody),
      signature: signatureOf(text, symbol),
    };
  });

  function ownText(at: number): string {
    const pieces: string[] = [];
    let position = from[at]!;
    for (const child of children[at]!) {
      pieces.push(text.slice(position, Math.max(position, from[child]!)));
      position = Math.max(position, symbols[child]!.to);
    }
    pieces.push(text.slice(position, symbols[at]!.to));
    return pieces.join('').replace(/\n\s*\n\s*\n/g, '\n\n');
  }
}

const comment = /^\s*(\/\/|\/\*|\*|#(?!\s*(include|define|undef|if|else|elif|endif|pragma|import)\b)|@\w|--)/;

/** Where the lines of comment and annotation right above it begin; its own start where there are none. */
function commentStart(text: string, starts: readonly number[], { from, start }: FoundSymbol): number {
  let line = start - 1;
  while (line > 0 && comment.test(text.slice(starts[line - 1]!, starts[line]!))) line--;
  return line === start - 1 ? from : starts[line]!;
}

function signatureOf(text: string, { from, to, bodyFrom }: FoundSymbol): string {
  const end = bodyFrom < to ? bodyFrom : endOfLine(text, from, to);
  const declaration = text.slice(from, Math.min(end, from + 4 * longestSignature));
  return cut(declaration.replace(/\s+/g, ' ').trim(), longestSignature);
}

function endOfLine(text: string, from: number, to: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? to : Math.min(end, to);
}
