import type { Part } from './extraction.ts';
import { lineStarts } from './text.ts';

const linesOfWindow = 60;
const overlap = 10;
/** A text that is hardly longer than a window is found as the file. */
const linesOfWhole = 90;
const longestWindow = 12_000;

/**
 * Overlapping windows of a text that has no structure we know. They are named by their place in the order, so that a line that is
 * added at the end leaves the others what they are. A window of long lines has fewer of them, and ends within one if it must.
 */
export function windowsOf(path: string, text: string): Part[] {
  const starts = lineStarts(text);
  if (text.endsWith('\n')) starts.pop();
  if (starts.length <= linesOfWhole && text.length <= longestWindow) return [];
  const parts: Part[] = [];
  for (let first = 0; first < starts.length; ) {
    const end = endOfWindow(starts, first, text.length);
    const to = starts[end] ?? text.length;
    for (let from = starts[first]!; from < to; from += longestWindow) {
      const nth = parts.length + 1;
      parts.push({
        node: 'section',
        name: `part-${nth}`,
        nth: 1,
        title: `${path}, lines ${first + 1} to ${end}`,
        sort: 'lines',
        start: first + 1,
        end,
        parent: -1,
        body: text.slice(from, Math.min(to, from + longestWindow)).toWellFormed(),
        signature: '',
      });
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
    if (next - starts[first]! > longestWindow) break;
    end++;
  }
  return end;
}
