import { visibleLine } from './terminal-text.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right. */
  readonly right?: boolean;
}

/** Lines of a table, the titles first; the last column is as wide as it needs. */
export function tableLines(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
): string[] {
  const wanted = columns.map((column) => (typeof column === 'string' ? { title: column } : column));
  const all = [wanted.map(({ title }) => title), ...rows.map((row) => row.map(visibleLine))];
  const widths = wanted.map((_, index) => Math.max(...all.map((row) => row[index]!.length)));
  return all.map((row) =>
    row
      .map((cell, index) => cell[wanted[index]!.right ? 'padStart' : 'padEnd'](widths[index]!))
      .join('  ')
      .trimEnd(),
  );
}
