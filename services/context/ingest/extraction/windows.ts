import type { Part } from './extraction.ts';
import { cut, lineStarts } from './text.ts';

const linesOfWindow = 60;
const overlap = 10;
/** A text that is hardly longer than a window is found as the file. */
const linesOfWhole = 90;
const maxWindowLength = 12_000;

/**
 * Overlapping windows of a text that has no structure we know. They are named by their place in the order, so that a line that is
 * added at the end leaves the others what they are. A window of long lines has fewer of them, and ends within one if it must.
 */
export function windowsOf(path: string, text: string): Part[] {
  const starts = lineStarts(text);
  if (text.endsWith('\n')) starts.pop();
  if (starts.length <= linesOfWhole && text.length <= maxWindowLength) return [];
  const parts: Part[] = [];
  for (let first = 0; first < starts.length; ) {
    const end = endOfWindow(starts, first, text.length);
    const to = starts[end] ?? text.length;
    for (let from = starts[first]!; from < to; from += maxWindowLength) {
      const body = text.slice(from, Math.min(to, from + maxWindowLength)).toWellFormed();
      parts.push(partOfLines(path, `part-${parts.length + 1}`, first + 1, end, body));
    }
    if (end >= starts.length) break;
    first = Math.max(first + 1, end - overlap);
  }
  return parts;
}

function endOfWindow(starts: readonly number[], first: number, length: number): number {
  let end = first + 1;
  while (end < starts.length && end - first < linesOfWindow) {
    const next = starts[end + 1] ?? length;
    if (next - starts[first]! > maxWindowLength) break;
    end++;
  }
  return end;
}

const linesBetween = 30;
const maxBetweenLength = 6_000;
/** Fewer lines that say anything are found as the file. */
const minLinesBetween = 3;

/** What introduces something else, or ends it. */
const saysLittle =
  /^\s*(import\b|from\b.*\bimport\b|use\b|using\b|#include\b|package\b|\/\/|\/\*|\*|#|[)\]}>;,]*\s*$)/;

/** The lines of a source file that are in none of its symbols, in windows: the cases of a test, the body of a script, a table. */
export function betweenSymbols(path: string, text: string, symbols: readonly Part[]): Part[] {
  const lines = text.split('\n');
  const windows: Part[] = [];
  for (const [first, last] of stretchesOf(lines.length, symbols)) {
    for (let from = first; from <= last; from += linesBetween) {
      const to = Math.min(last, from + linesBetween - 1);
      const own = lines.slice(from - 1, to);
      if (own.filter((line) => !saysLittle.test(line)).length < minLinesBetween) continue;
      const body = cut(own.join('\n'), maxBetweenLength).toWellFormed();
      windows.push(partOfLines(path, `between-${windows.length + 1}`, from, to, body));
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

function partOfLines(path: string, name: string, start: number, end: number, body: string): Part {
  const title = `${path}, lines ${start} to ${end}`;
  return { node: 'section', name, nth: 1, title, sort: 'lines', start, end, parent: -1, body, signature: '' };
}
