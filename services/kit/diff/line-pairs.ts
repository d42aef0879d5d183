import { isTextLine, lineKinds, type Patch } from './patch.ts';

/** Lines of a patch that stand beside each other. */
export interface LinePair {
  /** Line on the left, or on the whole row; -1 for none. */
  readonly left: number;
  /** Line on the right; -1 for none, `wholeRow` where the left one takes the whole row. */
  readonly right: number;
  /** How many lines of the patch are shown up to here, and with this row. */
  readonly begin: number;
  readonly end: number;
}

export const wholeRow = -2;

/** Each line as a row of its own, or both sides beside each other: what is taken away beside what is added. */
export function* pairedLines(patch: Patch, from: number, end: number, split: boolean): Iterable<LinePair> {
  for (let line = from; line < end; ) {
    const kind = patch.kinds[line]!;
    if (!split || !isTextLine(kind)) {
      yield { left: line, right: wholeRow, begin: line, end: line + 1 };
      line++;
    } else if (kind === lineKinds.context) {
      yield { left: line, right: line, begin: line, end: line + 1 };
      line++;
    } else {
      const { middle, end: last } = changedBlock(patch, line, end);
      const rows = Math.max(middle - line, last - middle);
      const shown = (row: number) => line + Math.min(row, middle - line) + Math.min(row, last - middle);
      for (let row = 0; row < rows; row++) {
        const left = line + row < middle ? line + row : -1;
        const right = middle + row < last ? middle + row : -1;
        yield { left, right, begin: shown(row), end: shown(row + 1) };
      }
      line = last;
    }
  }
}

/** Lines taken away from `line` on, up to `middle`, and lines added behind them, up to `end`. */
export function changedBlock(
  patch: Patch,
  line: number,
  limit: number,
): { readonly middle: number; readonly end: number } {
  const middle = runOf(patch, line, limit, lineKinds.removed);
  return { middle, end: runOf(patch, middle, limit, lineKinds.added) };
}

function runOf({ kinds }: Patch, from: number, end: number, kind: number): number {
  let line = from;
  while (line < end && kinds[line] === kind) line++;
  return line;
}
