import type { Part } from './extraction.ts';

const linesOfWindow = 30;
const longestWindow = 6_000;
/** Fewer lines that say anything are found as the file. */
const fewestLines = 3;

/** What introduces something else, or ends it. */
const saysLittle =
  /^\s*(import\b|from\b.*\bimport\b|use\b|using\b|#include\b|package\b|\/\/|\/\*|\*|#|[)\]}>;,]*\s*$)/;

/**
 * The lines of a source file that are in none of its symbols, in windows: the cases of a test, the body of a script, a table. They
 * are named by their place in the order.
 */
export function betweenSymbols(path: string, text: string, symbols: readonly Part[]): Part[] {
  const lines = text.split('\n');
  const windows: Part[] = [];
  for (const [first, last] of stretchesOf(lines.length, symbols)) {
    for (let from = first; from <= last; from += linesOfWindow) {
      const to = Math.min(last, from + linesOfWindow - 1);
      const own = lines.slice(from - 1, to);
      if (own.filter((line) => !saysLittle.test(line)).length < fewestLines) continue;
      const nth = windows.length + 1;
      windows.push({
        node: 'section',
        name: `between-${nth}`,
        nth: 1,
        title: `${path}, lines ${from} to ${to}`,
        sort: 'lines',
        start: from,
        end: to,
        parent: -1,
        body: own.join('\n').slice(0, longestWindow).toWellFormed(),
        signature: '',
      });
    }
  }
  return windows;
}

/** From line to line, counted from 1, both included. */
function stretchesOf(lines: number, symbols: readonly Part[]): [first: number, last: number][] {
  const stretches: [number, number][] = [];
  let next = 1;
  for (const { start, end } of symbols.toSorted((a, b) => a.start - b.start)) {
    if (start > next) stretches.push([next, start - 1]);
    next = Math.max(next, end + 1);
  }
  if (next <= lines) stretches.push([next, lines]);
  return stretches;
}
