import { type Row, span, wrapRow } from '../screen/cell.ts';
import { lineText } from './line-text.ts';
import { isTextLine, lineKinds, type Patch, type PatchFile } from './parse-patch.ts';

/**
 * Which piece of which line stands on which row. Rows are numbers in arrays: a layout of fifty thousand lines is made
 * anew at each resize.
 */
export interface DiffRows {
  readonly count: number;
  /** Line on the left, or on the whole row; -1 for none. */
  readonly left: Int32Array;
  /** Line on the right; -1 for none, `wholeRow` where the left one takes the whole row. */
  readonly right: Int32Array;
  /** Which piece of lines that are longer than the row. */
  readonly part: Int32Array;
  /** How far into the patch, in lines, who has read it up to the row's beginning and end. */
  readonly begins: Float64Array;
  readonly ends: Float64Array;
  /** Columns for the text of a line. */
  readonly textColumns: number;
  /** Columns for each line number; 0 where there is no room for them. */
  readonly numberColumns: number;
  readonly split: boolean;
}

export const wholeRow = -2;
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
  const rows = new GrowingRows();
  const parts = (line: number, width: number): number => partsOf(patch, line, Math.max(1, width));

  function whole(line: number, count: number): void {
    for (let part = 0; part < count; part++)
      rows.push([line, wholeRow, part], line + part / count, line + (part + 1) / count);
  }

  /** Lines taken away beside lines added; a position within counts how many of both are shown. */
  function block(from: number, middle: number, end: number): void {
    const pairs = Math.max(middle - from, end - middle);
    const shown = (pair: number) => from + Math.min(pair, middle - from) + Math.min(pair, end - middle);
    for (let pair = 0; pair < pairs; pair++) {
      const left = from + pair < middle ? from + pair : -1;
      const right = middle + pair < end ? middle + pair : -1;
      const count = Math.max(
        left === -1 ? 1 : parts(left, textColumns),
        right === -1 ? 1 : parts(right, textColumns),
      );
      const size = shown(pair + 1) - shown(pair);
      for (let part = 0; part < count; part++) {
        const begin = shown(pair) + (part / count) * size;
        rows.push([left, right, part], begin, shown(pair) + ((part + 1) / count) * size);
      }
    }
  }

  function lines(from: number, end: number): void {
    for (let line = from; line < end; ) {
      const kind = patch.kinds[line]!;
      const isText = isTextLine(kind);
      if (!split || !isText) {
        whole(line, parts(line, isText ? textColumns : columns - 2));
        line++;
      } else if (kind === lineKinds.context) {
        const count = parts(line, textColumns);
        for (let part = 0; part < count; part++)
          rows.push([line, line, part], line + part / count, line + (part + 1) / count);
        line++;
      } else {
        const middle = runOf(patch, line, end, lineKinds.removed);
        const last = runOf(patch, middle, end, lineKinds.added);
        block(line, middle, last);
        line = last;
      }
    }
  }

  lines(0, patch.files[0]?.first ?? patch.lines.length);
  for (const [index, file] of patch.files.entries()) {
    whole(file.first, wrapRow(nameRow(index), columns).length);
    if (!folded.has(index)) lines(file.first + 1, file.end);
  }
  return { ...rows.done(), textColumns, numberColumns, split };
}

/** The file that a line belongs to; -1 before the first. */
export function fileAt({ files }: { readonly files: readonly PatchFile[] }, line: number): number {
  let low = 0;
  let high = files.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (files[middle]!.first <= line) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The first row that shows the line or, where it is folded away, the last before it. */
export function rowOfLine({ count, begins }: DiffRows, line: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begins[middle]! < line) low = middle + 1;
    else high = middle;
  }
  return low < count && begins[low]! < line + 1 ? low : Math.max(0, low - 1);
}

function runOf({ kinds }: Patch, from: number, end: number, kind: number): number {
  let line = from;
  while (line < end && kinds[line] === kind) line++;
  return line;
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

class GrowingRows {
  #size = 0;
  #left = new Int32Array(1024);
  #right = new Int32Array(1024);
  #part = new Int32Array(1024);
  #begins = new Float64Array(1024);
  #ends = new Float64Array(1024);

  push([left, right, part]: readonly [number, number, number], begin: number, end: number): void {
    if (this.#size === this.#left.length) this.#grow();
    const at = this.#size++;
    this.#left[at] = left;
    this.#right[at] = right;
    this.#part[at] = part;
    this.#begins[at] = begin;
    this.#ends[at] = end;
  }

  done() {
    return {
      count: this.#size,
      left: this.#left,
      right: this.#right,
      part: this.#part,
      begins: this.#begins,
      ends: this.#ends,
    };
  }

  #grow(): void {
    const size = this.#size * 2;
    const ints = (old: Int32Array) => {
      const grown = new Int32Array(size);
      grown.set(old);
      return grown;
    };
    const floats = (old: Float64Array) => {
      const grown = new Float64Array(size);
      grown.set(old);
      return grown;
    };
    this.#left = ints(this.#left);
    this.#right = ints(this.#right);
    this.#part = ints(this.#part);
    this.#begins = floats(this.#begins);
    this.#ends = floats(this.#ends);
  }
}
