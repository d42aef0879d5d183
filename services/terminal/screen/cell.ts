import { isNarrow, textWidth } from '#kit/cli/text-width.ts';

export type Color = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'gray';

/** How a piece of text looks. Without colours, the rest of the style must still carry the meaning. */
export interface Style {
  readonly color?: Color;
  readonly bold?: true;
  readonly dim?: true;
  readonly inverse?: true;
  readonly underline?: true;
  /** Of a whole line: what a patch adds or takes away. */
  readonly ground?: 'added' | 'removed' | 'chosen';
}

/** Text for one line, sanitised, in one style. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}

/** One line of the screen. */
export type Row = readonly Span[];

export function span(text: string, style?: Style): Span {
  return style === undefined ? { text } : { text, style };
}

export function rowText(row: Row): string {
  return row.map(({ text }) => text).join('');
}

export function rowWidth(row: Row): number {
  return row.reduce((sum, { text }) => sum + columnsOf(text), 0);
}

/** The beginning of a row that fits, with an ellipsis where something is cut off. */
export function cutRow(row: Row, width: number, ellipsis: string): Row {
  if (rowWidth(row) <= width) return row;
  const [head] = splitRow(row, Math.max(0, width - columnsOf(ellipsis)));
  const last = head.at(-1);
  return width < columnsOf(ellipsis) ? head : [...head, span(ellipsis, last?.style)];
}

/** Exactly `width` columns: cut, or filled with spaces. */
export function fitRow(row: Row, width: number, ellipsis: string): Row {
  const cut = cutRow(row, width, ellipsis);
  const space = width - rowWidth(cut);
  return space > 0 ? [...cut, span(' '.repeat(space))] : cut;
}

/**
 * The row in lines of at most `width` columns. Breaks at spaces where `words`, else anywhere. Nothing is lost, but for the one
 * space that a line which is full to its end breaks at.
 */
export function wrapRow(row: Row, width: number, words = false): readonly Row[] {
  if (rowWidth(row) <= width) return [row];
  const lines: Row[] = [];
  let line: Span[] = [];
  let used = 0;
  const take = ({ style }: Span, text: string, columns: number): void => {
    line.push(style === undefined ? { text } : { text, style });
    used += columns;
  };
  const endLine = (): void => {
    const kept = words ? lastBreak(rowText(line)) : 0;
    const [head, tail] = kept > 0 ? splitCharacters(line, kept) : [line, []];
    lines.push(head);
    line = [...tail];
    used = rowWidth(tail);
  };
  for (const part of row) {
    for (const [text, columns, divisible] of pieces(part.text, width)) {
      let rest = text;
      let wide = columns;
      while (used + wide > width) {
        const fits = divisible ? Math.max(0, width - used) : 0;
        if (fits > 0) take(part, rest.slice(0, fits), fits);
        rest = rest.slice(fits);
        wide -= fits;
        if (used === 0) break;
        if (words && rest.startsWith(' ')) {
          lines.push(line);
          line = [];
          used = 0;
          rest = rest.slice(1);
          wide -= 1;
        } else endLine();
      }
      if (rest !== '') take(part, rest, wide);
    }
  }
  return line.length === 0 ? lines : [...lines, line];
}

/** With less room than that beside what it hangs under, text goes on below it, a little to the right. */
const minTextColumns = 24;
const narrowIndent = 2;

/**
 * The row wrapped, with everything after its first `hang` columns under itself. Of what stands before, the first `bar` columns are
 * repeated in each line; the room under the others stays empty.
 */
export function wrapUnder(
  row: Row,
  width: number,
  { words, hang, bar = 0 }: { readonly words: boolean; readonly hang: number; readonly bar?: number },
): readonly Row[] {
  if (hang <= 0 || rowWidth(row) <= width) return wrapRow(row, width, words);
  const room = width - hang;
  const [head, text] = splitRow(row, hang);
  if (room >= Math.min(minTextColumns, 2 * hang)) {
    const below = [...splitRow(head, bar)[0], span(' '.repeat(hang - bar))];
    return wrapRow(text, room, words).map((part, index) => [...(index === 0 ? head : below), ...part]);
  }
  const indent = width < minTextColumns ? 0 : narrowIndent;
  return wrapRow(row, width - indent, words).map((part, index) =>
    index === 0 || indent === 0 ? part : [span(' '.repeat(indent)), ...part],
  );
}

/** A text in pieces with their widths: as it is where every character takes one column, else character by character. */
function* pieces(
  text: string,
  width: number,
): Iterable<readonly [text: string, columns: number, divisible: boolean]> {
  if (isNarrow(text)) {
    yield [text, text.length, true];
    return;
  }
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const columns = columnsOf(segment);
    // Signs made of several are taken apart where they do not fit as one.
    if (columns <= width) yield [segment, columns, false];
    else for (const part of segment) yield [part, Math.min(columnsOf(part), width), false];
  }
}

/** All with the same ground under them. */
export function onGround(row: Row, ground: NonNullable<Style['ground']>): Row {
  return row.map(({ text, style }) => ({ text, style: { ...style, ground } }));
}

/** How many characters of a text that is too long stay on the line; 0 where nothing but signs would. */
function lastBreak(text: string): number {
  const at = text.lastIndexOf(' ') + 1;
  return /[\p{L}\p{N}]/u.test(text.slice(0, at)) ? at : 0;
}

/** Splits before the first character that reaches beyond `width` columns. */
function splitRow(row: Row, width: number): readonly [Row, Row] {
  let left = width;
  if (left <= 0) return [[], row];
  for (const [index, { text }] of row.entries()) {
    const wide = columnsOf(text);
    if (wide <= left) {
      left -= wide;
      continue;
    }
    const before = row.slice(0, index).reduce((sum, part) => sum + part.text.length, 0);
    return splitCharacters(row, before + charactersWithin(text, left));
  }
  return [row, []];
}

function charactersWithin(text: string, width: number): number {
  if (isNarrow(text)) return width;
  let used = 0;
  for (const { segment, index } of new Intl.Segmenter().segment(text)) {
    used += columnsOf(segment);
    if (used > width) return index;
  }
  return text.length;
}

function splitCharacters(row: Row, characters: number): readonly [Row, Row] {
  const head: Span[] = [];
  const tail: Span[] = [];
  let left = characters;
  for (const part of row) {
    const { text } = part;
    if (left >= text.length) head.push(part);
    else if (left <= 0) tail.push(part);
    else {
      head.push({ ...part, text: text.slice(0, left) });
      tail.push({ ...part, text: text.slice(left) });
    }
    left -= text.length;
  }
  return [head, tail];
}

/**
 * The most columns that some terminal takes for a text. What is one sign on a new terminal, a flag, a family or a skin
 * tone, older ones draw as its parts beside each other; laid out for the parts, nothing is ever pushed off the screen.
 */
export function columnsOf(text: string): number {
  if (!/[\u200d\ufe0f\u20e3\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u.test(text))
    return textWidth(text);
  let columns = 0;
  let last = 0;
  for (const character of text) {
    if (character === '\ufe0f') {
      // Asks for the picture of a sign that may be one column wide.
      columns += 2 - last;
      last = 2;
      continue;
    }
    last = isPart(character) ? 2 : textWidth(character);
    columns += last;
  }
  return columns;
}

function isPart(character: string): boolean {
  const code = character.codePointAt(0)!;
  return (code >= 0x1f1e6 && code <= 0x1f1ff) || (code >= 0x1f3fb && code <= 0x1f3ff);
}
