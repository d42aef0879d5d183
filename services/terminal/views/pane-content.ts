import { type DiffRows, fileAt, layDiff, rowOfLine, wholeRow } from '../diff/diff-rows.ts';
import type { Highlighter } from '../diff/highlight.ts';
import { laidLine, lineText } from '../diff/line-text.ts';
import { lineKinds, type Patch, type PatchFile } from '../diff/parse-patch.ts';
import { shownPath } from '../diff/shown-path.ts';
import {
  type Color,
  onGround,
  type Row,
  rowWidth,
  type Span,
  type Style,
  span,
  wrapRow,
} from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { withMarks } from './marked-spans.ts';
import { withMatches } from './matches.ts';
import type { TextLine } from './text-lines.ts';

/** Everything that a pane can show, of which only the rows on the screen are ever made. */
export interface PaneContent {
  readonly count: number;
  row(index: number): Row;
  /** In lines from the beginning. */
  span(index: number): readonly [begin: number, end: number];
  /** Where what an approval covers ends, in lines. */
  readonly payloadEnd: number;
  /** The first line of the patch, in lines; all before is text. */
  readonly patchBegin: number;
  readonly split: boolean;
  rowAt(line: number): number;
  /** Index of the file on a row; -1 outside the patch. */
  fileOnRow(index: number): number;
  rowOfFile(file: number): number;
  /** First row of the hunk or file after, or before, a row. */
  nextHunk(index: number, step: 1 | -1): number;
  /** Row of the next line with the text, around the end; null without any. */
  find(text: string, from: number, step: 1 | -1): number | null;
}

/** Makes the layout of a patch, or has made it before. */
export type Lay = typeof layDiff;

export interface PaneSource {
  readonly covered: readonly TextLine[];
  readonly patch: Patch | null;
  readonly after: readonly TextLine[];
  readonly columns: number;
  readonly split: boolean;
  readonly folded: ReadonlySet<number>;
  readonly search: string;
}

export function makePane(
  source: PaneSource,
  glyphs: Glyphs,
  highlighter: Highlighter,
  lay: Lay = layDiff,
): PaneContent {
  const { patch, columns, split, folded, search } = source;
  const nameRow = (file: number) => fileRow(patch!.files[file]!, folded.has(file), glyphs);
  const before = layText(source.covered, columns, 0);
  const diff = patch === null ? null : lay(patch, { columns, split, folded, nameRow });
  const patchBegin = source.covered.length;
  const payloadEnd = patchBegin + (patch?.lines.length ?? 0);
  const after = layText(source.after, columns, payloadEnd);
  const diffEnd = before.length + (diff?.count ?? 0);
  const count = diffEnd + after.length;
  const painter =
    patch === null || diff === null
      ? null
      : { patch, diff, columns, nameRow, longLines: new Map(), glyphs, highlighter };

  function textRow(index: number): TextRow | undefined {
    return index < before.length ? before[index] : after[index - diffEnd];
  }
  const inDiff = (index: number): boolean => index >= before.length && index < diffEnd;
  const diffRow = (index: number): number => index - before.length;

  function rowAt(line: number): number {
    if (line < patchBegin) return before.findIndex(({ end }) => end > line);
    if (line < payloadEnd && diff !== null) return before.length + rowOfLine(diff, line - patchBegin);
    const at = after.findIndex(({ end }) => end > line);
    return at === -1 ? Math.max(0, count - 1) : diffEnd + at;
  }
  function lineOf(index: number): number {
    return Math.floor(content.span(index)[0]);
  }

  const content: PaneContent = {
    count,
    payloadEnd,
    patchBegin,
    split,
    row(index) {
      const row = inDiff(index) ? paintDiffRow(painter!, diffRow(index)) : (textRow(index)?.row ?? []);
      return search === '' ? row : withMatches(row, search);
    },
    span(index) {
      if (inDiff(index)) {
        const at = diffRow(index);
        return [patchBegin + diff!.begins[at]!, patchBegin + diff!.ends[at]!];
      }
      const row = textRow(index);
      return row === undefined ? [payloadEnd, payloadEnd] : [row.begin, row.end];
    },
    rowAt,
    fileOnRow: (index) => (inDiff(index) ? fileAt(patch!, diff!.left[diffRow(index)]!) : -1),
    rowOfFile: (file) => rowAt(patchBegin + (patch?.files[file]?.first ?? 0)),
    nextHunk(index, step) {
      for (let at = index + step; at >= 0 && at < count; at += step) {
        if (!inDiff(at)) continue;
        const line = diff!.left[diffRow(at)]!;
        if (line >= 0 && diff!.part[diffRow(at)] === 0 && isBeginning(patch!, line)) return at;
      }
      return step > 0 ? Math.max(0, count - 1) : 0;
    },
    find(text, from, step) {
      if (text === '') return null;
      const texts = allLines(source);
      const matches = matcher(text);
      const total = texts.length;
      const start = lineOf(from);
      for (let walked = 1; walked <= total; walked++) {
        const line = (((start + step * walked) % total) + total) % total;
        if (matches(texts.at(line))) return rowAt(line);
      }
      return null;
    },
  };
  return content;
}

interface TextRow {
  readonly row: Row;
  readonly begin: number;
  readonly end: number;
}

function layText(lines: readonly TextLine[], columns: number, from: number): TextRow[] {
  return lines.flatMap(({ row, words }, index) => {
    const wrapped = wrapRow(row, Math.max(1, columns), words);
    return wrapped.map((part, number) => ({
      row: part,
      begin: from + index + number / wrapped.length,
      end: from + index + (number + 1) / wrapped.length,
    }));
  });
}

function isBeginning({ kinds, files }: Patch, line: number): boolean {
  return kinds[line] === lineKinds.hunk || files.some(({ first }) => first === line);
}

/** Texts of all lines by number, without making those of the patch before they are asked for. */
function allLines({ covered, patch, after }: PaneSource): { length: number; at(line: number): string } {
  const size = patch?.lines.length ?? 0;
  const textOf = (line: TextLine | undefined) => (line?.row ?? []).map(({ text }) => text).join('');
  return {
    length: covered.length + size + after.length,
    at(line) {
      if (line < covered.length) return textOf(covered[line]);
      if (line < covered.length + size) return patch!.lines[line - covered.length]!;
      return textOf(after[line - covered.length - size]);
    },
  };
}

/** Capitals in the search ask for capitals in the text. */
export function matcher(search: string): (text: string) => boolean {
  if (search !== search.toLowerCase()) return (text) => text.includes(search);
  return (text) => text.toLowerCase().includes(search);
}

interface Painter {
  readonly patch: Patch;
  readonly diff: DiffRows;
  readonly columns: number;
  readonly nameRow: (file: number) => Row;
  readonly longLines: Map<number, readonly Row[]>;
  readonly glyphs: Glyphs;
  readonly highlighter: Highlighter;
}

/** A note says that a file ends without a line end. */
const wholeRowColors: Readonly<Record<number, Color>> = {
  [lineKinds.hunk]: 'cyan',
  [lineKinds.note]: 'yellow',
};

function paintDiffRow(painter: Painter, index: number): Row {
  const { diff, patch, glyphs, columns } = painter;
  const left = diff.left[index]!;
  const right = diff.right[index]!;
  const part = diff.part[index]!;
  if (right === wholeRow) {
    const kind = patch.kinds[left]!;
    const file = fileAt(patch, left);
    if (file >= 0 && patch.files[file]!.first === left) return pieceOf(painter.nameRow(file), columns, part);
    if (kind === lineKinds.header || kind === lineKinds.hunk || kind === lineKinds.note) {
      const style: Style = { color: wholeRowColors[kind] ?? 'gray' };
      return [span('  '), ...pieceOf([span(lineText(patch, left), style)], columns - 2, part)];
    }
    return [...gutter(painter, left, part, 'both'), ...textPiece(painter, left, part)];
  }
  const half = Math.floor((columns - 1) / 2);
  return [
    ...side(painter, left, part, 'old', half),
    span(glyphs.vertical, { color: 'gray' }),
    ...side(painter, right, part, 'new', half),
  ];
}

function side(painter: Painter, line: number, part: number, which: 'old' | 'new', width: number): Row {
  if (line === -1) return [span(' '.repeat(width))];
  const row = [...gutter(painter, line, part, which), ...textPiece(painter, line, part)];
  const used = rowWidth(row);
  const wide = used < width ? [...row, span(' '.repeat(width - used))] : row;
  return grounded(painter.patch.kinds[line]!, wide);
}

function fileRow(file: PatchFile, isFolded: boolean, glyphs: Glyphs): Row {
  const { path, oldPath, status, nature, added, removed } = file;
  const from = oldPath === null ? '' : ` (from ${shownPath(oldPath)})`;
  return [
    span(`${isFolded ? glyphs.folded : glyphs.unfolded} `, { color: 'gray' }),
    span(`${shownPath(path)}${from}`, { bold: true, underline: true }),
    span(`  ${status}${nature === '' ? '' : `, ${nature}`} `, { color: nature === '' ? 'gray' : 'yellow' }),
    span(`+${added}`, { color: 'green' }),
    span(' '),
    span(`${glyphs.minus}${removed}`, { color: 'red' }),
    ...(isFolded ? [span('  folded', { color: 'yellow' })] : []),
  ];
}

function gutter({ patch, diff }: Painter, line: number, part: number, which: 'old' | 'new' | 'both'): Row {
  const { numberColumns } = diff;
  const number = (value: number) =>
    numberColumns === 0 ? '' : `${(value === 0 || part > 0 ? '' : String(value)).padStart(numberColumns)} `;
  const kind = patch.kinds[line]!;
  const sign = kind === lineKinds.added ? '+' : kind === lineKinds.removed ? '-' : ' ';
  const numbers =
    which === 'both'
      ? number(patch.oldNumbers[line]!) + number(patch.newNumbers[line]!)
      : number(which === 'old' ? patch.oldNumbers[line]! : patch.newNumbers[line]!);
  const signStyle: Style = kind === lineKinds.added ? { color: 'green' } : { color: 'red' };
  return [span(numbers, { color: 'gray' }), span(part > 0 ? '  ' : `${sign} `, signStyle)];
}

/** Lines longer than this are not coloured, and are broken once: machines write them by the megabyte. */
const longLine = 2_000;
const mostLongLines = 50;

function textPiece(painter: Painter, line: number, part: number): Row {
  const { patch, highlighter, diff, longLines, glyphs } = painter;
  if (patch.lines[line]!.length > longLine) {
    let rows = longLines.get(line);
    if (rows === undefined) {
      if (longLines.size >= mostLongLines) longLines.clear();
      const { text, marks } = laidLine(patch, line);
      rows = wrapRow(withMarks([span(text)], marks, glyphs), Math.max(1, diff.textColumns));
      longLines.set(line, rows);
    }
    const row = rows[part] ?? [];
    return diff.split ? row : grounded(patch.kinds[line]!, row);
  }
  const path = patch.files[fileAt(patch, line)]?.path ?? '';
  const spans = withMarks(highlighter.spans(patch, line, path), laidLine(patch, line).marks, glyphs);
  const row = pieceOf(spans, diff.textColumns, part);
  return diff.split ? row : grounded(patch.kinds[line]!, row);
}

function grounded(kind: number, row: Row): Row {
  if (kind === lineKinds.added) return onGround(row, 'added');
  return kind === lineKinds.removed ? onGround(row, 'removed') : row;
}

function pieceOf(spans: readonly Span[], columns: number, part: number): Row {
  return wrapRow(spans, Math.max(1, columns))[part] ?? [];
}
