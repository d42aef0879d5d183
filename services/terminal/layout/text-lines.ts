import { visibleLine } from '#kit/cli/terminal-text.ts';
import { laidText, type Mark, safeText, spaceSigns } from '#kit/diff/line-text.ts';
import { type Row, rowWidth, type Span, type Style, span, wrapUnder } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';

/** A line of text before it is wrapped. */
export interface TextLine {
  readonly row: Row;
  /** Wrapped at spaces; otherwise anywhere, as code is. */
  readonly words: boolean;
  /** Columns of its beginning, under which nothing of the rest stands. */
  readonly hang?: number;
  /** Columns of that which stand in each line, as a bar does. */
  readonly bar?: number;
}

export function wrapLine({ row, words, hang = 0, bar = 0 }: TextLine, columns: number): readonly Row[] {
  return wrapUnder(row, Math.max(1, columns), { words, hang, bar });
}

export function line(...row: Row): TextLine {
  return { row, words: true };
}

export const emptyLine: TextLine = line();

/** What stands behind a mark, a name or a bar, wrapped under itself. */
export function hanging(head: Row, ...text: Row): TextLine {
  return { row: [...head, ...text], words: true, hang: rowWidth(head) };
}

/** With fewer columns a text stands below what it belongs to. */
const besideFrom = 74;
export const belowIndent = ' '.repeat(7);

/** Beside its head on a wide screen, else on lines of its own below. */
export function besideOrBelow(head: Row, text: Row, columns: number): TextLine[] {
  if (columns >= besideFrom || text.length === 0) return [hanging(head, ...text)];
  return [line(...head), hanging([span(belowIndent)], ...text)];
}

/** Behind a bar that stands in each line. */
export function barred(bar: string, ...text: Row): TextLine {
  const head = span(bar, { color: 'gray' });
  return { ...hanging([head], ...text), bar: rowWidth([head]) };
}

/** The name of a key in a sentence. */
export function key(name: string): Span {
  return span(name, { color: 'cyan', bold: true });
}

export function heading(text: string): TextLine {
  return line(span(visibleLine(text), { bold: true }));
}

const labelColumns = 12;

/** @param columns of the label, with what is free behind it */
export function field(label: string, text: string, style?: Style, columns = labelColumns): TextLine {
  const name = visibleLine(label);
  const head = name.padEnd(Math.max(labelColumns, columns, name.length + 1));
  return hanging([span(head, { color: 'gray' })], span(visibleLine(text), style));
}

/** What a paragraph of a list begins with, and how far it is indented. */
const beginning = /^ *(?:(?:[-*+•]|\d{1,3}[.)]) +)?/;

/** Text by others, line by line as it is. */
export function quoted(text: string, style?: Style, bar = ''): TextLine[] {
  const lines = text.replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n');
  return lines.map((one) => {
    const safe = safeText(one);
    const under = barred(bar, span(safe, style));
    return { ...under, hang: under.hang! + beginning.exec(safe)![0].length };
  });
}

/** Output of a program: its own line ends and nothing else of its control over a terminal. */
export function outputLine(text: string): TextLine {
  return { ...barred('  ', span(safeText(text.replace(/\r$/, '')))), words: false };
}

/** Tabs and escapes differ from the same letters by more than colour. */
const escapeStyle: Style = { color: 'yellow', underline: true };

/** Text with a sign for each tab, each space at the end, and escapes standing out; as long as before. */
export function withMarks(spans: readonly Span[], marks: readonly Mark[], glyphs: Glyphs): readonly Span[] {
  if (marks.length === 0) return spans;
  const marked: Span[] = [];
  let next = 0;
  let offset = 0;
  for (const { text, style } of spans) {
    let from = 0;
    while (from < text.length) {
      while (next < marks.length && marks[next]!.at + marks[next]!.length <= offset + from) next++;
      const mark = marks[next];
      const begin = mark === undefined ? text.length : Math.max(from, mark.at - offset);
      if (begin > from) marked.push(withStyle(text.slice(from, begin), style));
      if (mark === undefined || begin >= text.length) break;
      const end = Math.min(text.length, mark.at + mark.length - offset);
      marked.push(...signOf(mark, text.slice(begin, end), offset + begin - mark.at, glyphs));
      from = end;
    }
    offset += text.length;
  }
  return marked;
}

/** A line of text that an approval covers, exactly. */
export function exactRow(text: string, glyphs: Glyphs): Row {
  const { text: laid, marks } = laidText(text, true);
  return withMarks([span(laid)], marks, glyphs);
}

function signOf(mark: Mark, text: string, into: number, { unicode }: Glyphs): Row {
  if (mark.kind === 'escape') return [span(text, escapeStyle)];
  if (mark.kind === 'gap') return [span(text)];
  const sign = unicode ? spaceSigns[mark.kind] : mark.kind === 'tab' ? '>' : '.';
  const style: Style = unicode ? { color: 'gray' } : { color: 'gray', inverse: true };
  return into > 0 ? [span(text)] : [span(sign, style), ...(text.length > 1 ? [span(text.slice(1))] : [])];
}

function withStyle(text: string, style: Style | undefined): Span {
  return style === undefined ? { text } : { text, style };
}
