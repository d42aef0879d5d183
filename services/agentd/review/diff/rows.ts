import { changedBlock, pairedLines } from '#kit/diff/line-pairs.ts';
import { isTextLine, lineKinds, type Patch, type PatchFile } from '#kit/diff/patch.ts';
import { maxPairedLines } from '#kit/diff/word-differences.ts';
import { maxShownCharacters } from './line-html.ts';

/** Which lines of a patch stand on which row, one below the other or both sides beside each other. */
export interface Rows {
  readonly split: boolean;
  /** Line on the left, or on the whole row; -1 for none. */
  readonly left: Int32Array;
  /** Line on the right; -1 for none, `wholeRow` where the left one takes the whole row. */
  readonly right: Int32Array;
  /** What stands before the first file comes first where there is some, then the files in their order. */
  readonly sections: readonly Section[];
}

export interface Section {
  /** Index of the file; -1 for what stands before the first. */
  readonly file: number;
  readonly chunks: readonly Chunk[];
  /** Rows on which a hunk begins. */
  readonly hunks: readonly number[];
  /** Characters of its longest line, as far as it is shown. */
  readonly columns: number;
}

/** Rows that are fetched and dropped together, or folded away until somebody asks for them. */
export interface Chunk {
  readonly from: number;
  readonly end: number;
  readonly folded: 'header' | 'context' | 'binary' | null;
}

export const chunkRows = 100;
/** Unchanged lines that stay around a change, where more than the sum of these and `minFolded` follow one another. */
const keptContext = 8;
const minFolded = 8;

export function rowsOf(patch: Patch, split: boolean): Rows {
  const left: number[] = [];
  const right: number[] = [];
  const sections: Section[] = [];
  const add = (file: number, from: number, end: number): void => {
    if (from === end) return;
    const first = left.length;
    for (const pair of pairedLines(patch, from, end, split)) {
      left.push(pair.left);
      right.push(pair.right);
    }
    const hunks: number[] = [];
    for (let row = first; row < left.length; row++)
      if (patch.kinds[left[row]!] === lineKinds.hunk) hunks.push(row);
    const chunks = chunksOf(patch, left, right, first, patch.files[file]);
    sections.push({ file, chunks, hunks, columns: columnsOf(patch, from, end) });
  };
  add(-1, 0, patch.files[0]?.first ?? patch.lines.length);
  for (const [index, { first, end }] of patch.files.entries()) add(index, first, end);
  return { split, left: Int32Array.from(left), right: Int32Array.from(right), sections };
}

/** For each line that is compared by words, the line that it is compared with; -1 for the others. */
export function partnersOf(patch: Patch): Int32Array {
  const partners = new Int32Array(patch.lines.length).fill(-1);
  for (let line = 0; line < patch.lines.length; ) {
    if (patch.kinds[line] !== lineKinds.removed) {
      line++;
      continue;
    }
    const { middle, end } = changedBlock(patch, line, patch.lines.length);
    const count = middle - line;
    if (count === end - middle && count <= maxPairedLines) {
      for (let row = 0; row < count; row++) {
        partners[line + row] = middle + row;
        partners[middle + row] = line + row;
      }
    }
    line = end;
  }
  return partners;
}

function chunksOf(
  patch: Patch,
  left: readonly number[],
  right: readonly number[],
  first: number,
  file: PatchFile | undefined,
): Chunk[] {
  const chunks: Chunk[] = [];
  const end = left.length;
  const shown = (from: number, to: number): void => {
    for (let at = from; at < to; at += chunkRows)
      chunks.push({ from: at, end: Math.min(to, at + chunkRows), folded: null });
  };
  const header = file === undefined ? first : headerEnd(patch, left, first, end);
  // A header that says nothing of its own is folded; of a binary file the data, and what is said of it is shown.
  if (header > first) {
    const lines = left.slice(first, header).map((line) => patch.lines[line]!);
    const binary = lines.indexOf('GIT binary patch');
    if (header < end && lines.every(isPlainHeader))
      chunks.push({ from: first, end: header, folded: 'header' });
    else if (binary === -1) shown(first, header);
    else {
      shown(first, first + binary);
      chunks.push({ from: first + binary, end: header, folded: 'binary' });
    }
  }
  let from = header;
  for (let row = header; row < end; ) {
    const run = contextEnd(patch, left, right, row, end);
    if (run - row >= 2 * keptContext + minFolded) {
      shown(from, row + keptContext);
      chunks.push({ from: row + keptContext, end: run - keptContext, folded: 'context' });
      from = run - keptContext;
    }
    row = Math.max(run, row + 1);
  }
  shown(from, end);
  return chunks;
}

function headerEnd({ kinds }: Patch, left: readonly number[], first: number, end: number): number {
  let row = first;
  while (row < end && kinds[left[row]!] === lineKinds.header) row++;
  return row;
}

/** Lines that say nothing which the file's heading does not say. */
function isPlainHeader(line: string): boolean {
  return /^(?:diff --git |index |--- |\+\+\+ |new file mode 100644$|deleted file mode )/.test(line);
}

function contextEnd(
  { kinds }: Patch,
  left: readonly number[],
  right: readonly number[],
  from: number,
  end: number,
): number {
  let row = from;
  while (row < end && kinds[left[row]!] === lineKinds.context && right[row] !== -1) row++;
  return row;
}

function columnsOf({ lines, kinds }: Patch, from: number, end: number): number {
  let columns = 0;
  for (let line = from; line < end; line++)
    if (isTextLine(kinds[line]!)) columns = Math.max(columns, lines[line]!.length);
  return Math.min(columns, maxShownCharacters);
}
