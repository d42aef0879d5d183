import { visibleLine } from '#kit/cli/terminal-text.ts';
import { safeText } from '../diff/line-text.ts';
import { type Row, type Style, span } from '../screen/cell.ts';

/** A line of text before it is wrapped. */
export interface TextLine {
  readonly row: Row;
  /** Wrapped at spaces; otherwise anywhere, as code is. */
  readonly words: boolean;
}

export function line(...row: Row): TextLine {
  return { row, words: true };
}

export const emptyLine: TextLine = line();

export function heading(text: string): TextLine {
  return line(span(visibleLine(text), { bold: true }));
}

const labelColumns = 12;

export function field(label: string, text: string, style?: Style): TextLine {
  return line(
    span(visibleLine(label).padEnd(labelColumns), { color: 'gray' }),
    span(visibleLine(text), style),
  );
}

/** Text by others, line by line as it is. */
export function quoted(text: string, style?: Style, bar = ''): TextLine[] {
  const lines = text.replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n');
  return lines.map((one) => line(span(bar, { color: 'gray' }), span(safeText(one), style)));
}

/** Output of a program: its own line ends and nothing else of its control over a terminal. */
export function outputLine(text: string): TextLine {
  return { row: [span('  '), span(safeText(text.replace(/\r$/, '')))], words: false };
}
