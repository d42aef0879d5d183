import { type LinePair, pairedLines, wholeRow } from '#kit/diff/line-pairs.ts';
import { lineText } from '#kit/diff/line-text.ts';
import { isTextLine, type Patch, type PatchFile } from '#kit/diff/patch.ts';
import { type Row, span, wrapRow } from '../screen/cell.ts';

/** Which piece of which line stands on a row; it begins and ends at a fraction of a line where that takes several rows. */
export interface DiffRow extends LinePair {
  /** Which piece of lines that are longer than the row. */
  readonly part: number;
}

export interface DiffRows {
  readonly rows: readonly DiffRow[];
  readonly textColumns: number;
  /** Columns for each line number; 0 where there is no room for them. */
  readonly numberColumns: number;
  readonly split: boolean;
}

const signColumns = 2;
/** With less room for the text beside them line numbers are left out. */
const leastText = 16;
const minNumberColumns = 4;

export interface DiffLayout {
  readonly columns: number;
  readonly split: boolean;
  /** Indices of files of which only the name is shown. */
  readonly folded: ReadonlySet<number>;
  /** The line that stands for a file; long ones take several rows. */
  readonly nameRow: (file: number) => Row;
}

export function layDiff(patch: Patch, { columns, split, folded, nameRow }: DiffLayout): DiffRows {
  const room = split ? Math.floor((columns - 1) / 2) : columns;
  const wanted = Math.max(minNumberColumns, String(patch.highestNumber).length);
  const gutter = (wanted + 1) * (split ? 1 : 2) + signColumns;
  const numberColumns = room >= gutter + leastText ? wanted : 0;
  const textColumns = Math.max(1, room - (numberColumns === 0 ? signColumns : gutter));
  const rows: DiffRow[] = [];
  const parts = (line: number, width: number): number => partsOf(patch, line, Math.max(1, width));

  /** One line on each side, in as many rows as the longer one takes. */
  function add(left: number, right: number, count: number, begin: number, size = 1): void {
    for (let part = 0; part < count; part++) {
      const from = begin + (part / count) * size;
      rows.push({ left, right, part, begin: from, end: begin + ((part + 1) / count) * size });
    }
  }
  function lines(from: number, last: number): void {
    for (const { left, right, begin, end } of pairedLines(patch, from, last, split)) {
      const isText = right !== wholeRow || isTextLine(patch.kinds[left]!);
      const width = isText ? textColumns : columns - 2;
      const sides = right === wholeRow || right === left ? [left] : [left, right];
      const count = Math.max(...sides.map((line) => (line === -1 ? 1 : parts(line, width))));
      add(left, right, count, begin, end - begin);
    }
  }
  lines(0, patch.files[0]?.first ?? patch.lines.length);
  for (const [index, file] of patch.files.entries()) {
    add(file.first, wholeRow, wrapRow(nameRow(index), columns).length, file.first);
    if (!folded.has(index)) lines(file.first + 1, file.end);
  }
  return { rows, textColumns, numberColumns, split };
}

/** The file that a line belongs to; -1 before the first. */
export function fileAt({ files }: { readonly files: readonly PatchFile[] }, line: number): number {
  return firstWhere(files, ({ first }) => first > line) - 1;
}

/** The first row that shows the line or, where it is folded away, the last before it. */
export function rowOfLine({ rows }: DiffRows, line: number): number {
  const row = firstWhere(rows, ({ begin }) => begin >= line);
  return row < rows.length && rows[row]!.begin < line + 1 ? row : Math.max(0, row - 1);
}

/** Index of the first item for which it is true; all behind it are so too. */
function firstWhere<T>(items: readonly T[], test: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(items[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Wide characters that do not fit leave a column empty, so that only wrapping tells how many rows they take. */
function partsOf(patch: Patch, line: number, width: number): number {
  const raw = patch.lines[line]!;
  if (/^[\x20-\x7e]*$/.test(raw)) {
    const columns = isTextLine(patch.kinds[line]!) ? raw.length - 1 : raw.length;
    return Math.max(1, Math.ceil(columns / width));
  }
  return wrapRow([span(lineText(patch, line))], width).length;
}
