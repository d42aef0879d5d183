import type { Display } from './display.ts';
import { textWidth } from './text-width.ts';

/** The text, or its beginning with an ellipsis where it is wider than `width`. */
export function cut(text: string, width: number, ellipsis: string): string {
  if (width === Number.POSITIVE_INFINITY || textWidth(text) <= width) return text;
  return `${beginning(text, Math.max(1, width - textWidth(ellipsis)))}${ellipsis}`;
}

/** The text, or its end after an ellipsis: for names whose end says most. */
export function cutStart(text: string, width: number, ellipsis: string): string {
  if (textWidth(text) <= width) return text;
  const segments = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  let kept = '';
  for (const segment of segments.reverse()) {
    if (textWidth(segment + kept) + textWidth(ellipsis) > width) break;
    kept = segment + kept;
  }
  return `${ellipsis}${kept}`;
}

/**
 * Lines of at most `width` columns, broken between words; a word that is longer is broken at the edge. One of up to `longest`
 * columns stays whole, on a line of its own.
 */
export function wrapText(text: string, width: number, longest = width): string[] {
  if (textWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && textWidth(line) + 1 + textWidth(word) <= width) {
      line += ` ${word}`;
      continue;
    }
    if (line !== '') lines.push(line.trimEnd());
    let rest = word;
    while (textWidth(rest) > Math.max(width, longest)) {
      const piece = breakable(beginning(rest, width));
      lines.push(piece);
      rest = rest.slice(piece.length);
    }
    line = rest;
  }
  if (line !== '') lines.push(line.trimEnd());
  return lines;
}

/**
 * A line of text, colours included, on as many lines as it needs. What follows stands under the text behind its label, where
 * the line has one. Words stay whole, however long: they are paths, addresses and names, which people copy. So do quoted
 * arguments, and the ` \` by which a command goes on stays behind its word.
 */
export function wrapLine(line: string, width: number): string[] {
  if (width === Number.POSITIVE_INFINITY || seenWidth(line) <= width) return [line];
  const indent = textStart(unpainted(line), width);
  const lines: string[] = [];
  let current = '';
  for (const [, gap = '', word = ''] of line.matchAll(pieces)) {
    const longer = current + gap + word;
    if (seenWidth(current) <= indent || seenWidth(longer) <= width) {
      current = longer;
    } else {
      lines.push(current);
      current = ' '.repeat(indent) + word;
    }
  }
  return [...lines, current];
}

/** Text for people, of any number of lines, as the display can show it: its signs, and lines wrapped as `wrapLine` does. */
export function fitted(text: string, { width, symbols }: Display): string {
  return symbols
    .plain(text)
    .split('\n')
    .flatMap((line) => wrapLine(line, width))
    .join('\n');
}

/** A command line on as many lines of at most `width` columns as it needs, so that it can still be pasted as it stands. */
export function wrapCommand(command: string, width: number): string[] {
  const words = command.match(/(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\S)+/g) ?? [];
  const lines: string[] = [];
  for (const word of words) {
    const current = lines.at(-1);
    if (current !== undefined && textWidth(`${current} ${word} \\`) <= width)
      lines.splice(-1, 1, `${current} ${word}`);
    else lines.push(current === undefined ? word : `  ${word}`);
  }
  return lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line));
}

/** What stands before a word, and the word with the sign of continuation behind it. */
const pieces = /( *)((?:'[^']*'(?:\\'|'[^']*')*(?![^\s\x1b])|\S+)(?: \\(?:\x1b\[[0-9;]*m)*$)?)/g;

/** A label with its gap, and the command behind it on as many lines as it needs. */
export function labelledCommand(label: string, command: string, width: number): string[] {
  const indent = textWidth(label);
  return wrapCommand(command, width - indent).map(
    (line, index) => `${index === 0 ? label : ' '.repeat(indent)}${line}`,
  );
}

/** Where the text behind labels begins: after the last wide gap of the first half. */
function textStart(line: string, width: number): number {
  const gaps = [...line.matchAll(/\S( {2,})(?=\S)/g)].map(({ index, 1: gap }) => index + 1 + gap!.length);
  return gaps.findLast((end) => end <= width / 2) ?? line.length - line.trimStart().length;
}

const colours = /\x1b\[[0-9;]*m/g;

function unpainted(text: string): string {
  return text.replace(colours, '');
}

/** Columns of a text, its colours left out. */
export function seenWidth(text: string): number {
  return textWidth(unpainted(text));
}

/** Up to the last sign in its second half that a name may be broken behind; the whole where there is none. */
function breakable(piece: string): string {
  const end = piece.search(/[-/_.,:](?=[^-/_.,:]*$)/) + 1;
  return end * 2 > piece.length ? piece.slice(0, end) : piece;
}

function beginning(text: string, width: number): string {
  let kept = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += textWidth(segment);
    if (used > width && kept !== '') break;
    kept += segment;
  }
  return kept;
}
