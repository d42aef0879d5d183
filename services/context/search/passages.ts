const linesOfPassage = 30;
const most = 256;

/**
 * A file's text in pieces of so many lines. They are indexed beside its symbols, because much of a file is in none of these: tests,
 * tables, settings. The last piece of a long text has the rest of it.
 */
export function passagesOf(text: string): string[] {
  const lines = text.split('\n');
  const passages: string[] = [];
  for (let from = 0; from < lines.length; from += linesOfPassage) {
    const to = passages.length === most - 1 ? lines.length : from + linesOfPassage;
    passages.push(lines.slice(from, to).join('\n'));
    if (to === lines.length) break;
  }
  return passages;
}

/** The row of a passage in `part_index`: below zero, where no node has one. */
export function passageRow(node: number, nth: number): number {
  return -(node * most + nth);
}

/** Which node a row of `part_index` is of, in SQL. */
export const nodeOfRow = (row: string) => `iif(${row} < 0, (-${row}) / ${most}, ${row})`;
