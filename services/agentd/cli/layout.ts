import { textWidth } from '#kit/cli/text-width.ts';

/** One cell of a table: plain text that has passed the sanitiser, and how it is painted. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
  readonly align?: 'left' | 'right';
}

export interface TableOptions {
  readonly indent: number;
  readonly gap: number;
  /** The last column is cut to it. */
  readonly width: number;
  readonly ellipsis: string;
}

/** Lines up cells by display width, so that wide and combining characters keep the columns straight. */
export function table(rows: readonly (readonly Cell[])[], options: TableOptions): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, textWidth(cell.text));
    });
  }
  return rows.map((row) => {
    let line = ' '.repeat(options.indent);
    let used = options.indent;
    row.forEach((cell, column) => {
      const last = column === row.length - 1;
      const text = last ? cut(cell.text, options.width - used, options.ellipsis) : cell.text;
      const space = ' '.repeat(Math.max(0, widths[column]! - textWidth(text)));
      const painted = cell.paint === undefined ? text : cell.paint(text);
      line += cell.align === 'right' ? space + painted : last ? painted : painted + space;
      if (!last) line += ' '.repeat(options.gap);
      used += widths[column]! + options.gap;
    });
    return line.trimEnd();
  });
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
