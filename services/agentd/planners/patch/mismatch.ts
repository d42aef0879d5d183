import { type Hunk, withoutReturn } from '#kit/git/patch.ts';
import { bytesText, shownText } from './file-lines.ts';
import { differenceOf, repairs } from './repairs.ts';

const maxShown = 200;
/** Bounds the work for files of repeated lines. */
const maxStarts = 200;

/** Where a hunk that is nowhere comes closest to the file, and the first line that differs there. Several lines of text. */
export function mismatchOf(lines: readonly string[], { old_start, lines: written }: Hunk): string {
  const expected = written.filter((line) => !/^[+\\]/.test(line)).map((line) => withoutReturn(line.slice(1)));
  const found = lines.map((line) => line.replace(/\r?\n$/, ''));
  const start = closest(found, expected, old_start - 1);
  const at = expected.findIndex((text, index) => bytesText(text) !== found[start + index]);
  const line = start + Math.max(at, 0);
  if (at < 0) return `  line ${start + expected.length}: only the line break at its end differs`;
  const actual = found[line];
  return [
    `  line ${line + 1}, expected: ${visible(expected[at]!)}`,
    `  line ${line + 1}, found:    ${actual === undefined ? 'the end of the file' : visible(shownText(actual))}`,
    ...(actual === undefined ? [] : [`  difference: ${differenceOf(expected[at]!, actual)}`]),
  ].join('\n');
}

/** The start with the most equal lines; lines that a repair makes equal count less. The header decides between equals. */
function closest(found: readonly string[], expected: readonly string[], header: number): number {
  const places = new Map<string, number[]>();
  for (const [index, line] of found.entries()) {
    const known = places.get(line);
    if (known === undefined) places.set(line, [index]);
    else if (known.length < 20) known.push(index);
  }
  const starts = new Set([Math.min(Math.max(header, 0), Math.max(found.length - 1, 0))]);
  for (const [offset, text] of expected.slice(0, 100).entries()) {
    for (const { bytes } of [{ bytes: bytesText }, ...repairs]) {
      for (const index of places.get(bytes(text)) ?? []) {
        if (starts.size < maxStarts && index >= offset) starts.add(index - offset);
      }
    }
  }
  const score = (start: number) =>
    expected.slice(0, 100).reduce((sum, text, offset) => {
      const line = found[start + offset];
      return (
        sum +
        (line === undefined
          ? 0
          : line === bytesText(text)
            ? 2
            : differenceOf(text, line) === 'other content'
              ? 0
              : 1)
      );
    }, 0);
  const scored = [...starts].map((start) => ({ start, score: score(start) }));
  scored.sort((a, b) => b.score - a.score || Math.abs(a.start - header) - Math.abs(b.start - header));
  return scored[0]!.start;
}

/** Spaces and format characters that look like others or like nothing. */
const unseen = /[\p{Zs}\p{Cf}\t\r]/gu;
const unseenOrMark = /[\p{Zs}\p{Cf}\p{M}\t\r]/gu;

/** In quotes, with characters that a reader cannot tell from others as `\u{…}`. */
function visible(text: string): string {
  const cut = text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()}…` : text;
  const isComposed = cut.normalize('NFC') === cut;
  const shown = cut.replace(isComposed ? unseen : unseenOrMark, (one) => {
    if (one === ' ') return one;
    return one === '\t' ? '\\t' : `\\u{${one.codePointAt(0)!.toString(16)}}`;
  });
  return `"${shown}"`;
}
