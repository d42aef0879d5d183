import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import { textWidth } from '#kit/cli/text-width.ts';
import type { Terminal } from './terminal.ts';

/** One cell of a table; `table` makes its text safe to print. */
export type Cell =
  | string
  | {
      readonly text: string;
      readonly paint?: ((text: string) => string) | undefined;
      readonly align?: 'left' | 'right';
    };

export interface TableOptions {
  /** Default 2. */
  readonly indent?: number;
  /** The last column is cut to it; default that of the terminal. */
  readonly width?: number;
}

const gap = 2;

/** Lines up cells by display width, so that wide and combining characters keep the columns straight. */
export function table(
  given: readonly (readonly Cell[])[],
  terminal: Pick<Terminal, 'width' | 'symbols'>,
  { indent = 2, width = terminal.width }: TableOptions = {},
): string[] {
  const rows = given.map((row) =>
    row.map((cell) => {
      const { text, paint, align } = typeof cell === 'string' ? { text: cell } : cell;
      return { text: visibleLine(text), paint, align };
    }),
  );
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach(({ text }, column) => {
      widths[column] = Math.max(widths[column] ?? 0, textWidth(text));
    });
  }
  return rows.map((row) => {
    let line = ' '.repeat(indent);
    let used = indent;
    row.forEach((cell, column) => {
      const last = column === row.length - 1;
      const text = last ? cut(cell.text, width - used, terminal.symbols.ellipsis) : cell.text;
      const space = ' '.repeat(Math.max(0, widths[column]! - textWidth(text)));
      const painted = cell.paint === undefined ? text : cell.paint(text);
      line += cell.align === 'right' ? space + painted : last ? painted : painted + space;
      if (!last) line += ' '.repeat(gap);
      used += widths[column]! + gap;
    });
    return line.trimEnd();
  });
}

/** Labels with their texts, none of which is cut. */
export function labelled(
  rows: readonly (readonly [label: string, text: string])[],
  terminal: Terminal,
  indent = 2,
): string[] {
  const cells = rows.map(([text, value]): Cell[] => [{ text, paint: terminal.paint.dim }, value]);
  return table(cells, terminal, { indent, width: Number.POSITIVE_INFINITY });
}

/** Two texts at both ends of a line, at least two spaces apart. */
export function apart(left: string, right: string, width: number): string {
  const space = Math.max(2, Math.min(width, 100) - textWidth(left) - textWidth(right));
  return `${left}${' '.repeat(space)}${right}`;
}

/** The text, or its beginning with an ellipsis where it is wider than `width`. */
export function cut(text: string, width: number, ellipsis: string): string {
  if (width === Number.POSITIVE_INFINITY || textWidth(text) <= width) return text;
  const room = Math.max(1, width - textWidth(ellipsis));
  let kept = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += textWidth(segment);
    if (used > room) break;
    kept += segment;
  }
  return `${kept}${ellipsis}`;
}

/** For example `1 run` or `2 runs`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

export function quoted(text: string, terminal: Terminal): string[] {
  return visibleLines(text.trimEnd())
    .split('\n')
    .map((line) => `  ${terminal.paint.dim('|')} ${line}`.trimEnd());
}
