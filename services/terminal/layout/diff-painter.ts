import type { Highlighter, SyntaxKind } from '#kit/diff/highlight.ts';
import { wholeRow } from '#kit/diff/line-pairs.ts';
import { laidLine, lineText, shownPath } from '#kit/diff/line-text.ts';
import { lineKinds, type Patch, type PatchFile } from '#kit/diff/patch.ts';
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
import { type DiffRows, fileAt } from './diff-rows.ts';
import { withMarks } from './text-lines.ts';

export interface Painter {
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

const syntaxStyles: Readonly<Record<SyntaxKind, Style>> = {
  keyword: { color: 'magenta' },
  built_in: { color: 'cyan' },
  type: { color: 'cyan' },
  literal: { color: 'cyan' },
  number: { color: 'cyan' },
  string: { color: 'yellow' },
  regexp: { color: 'yellow' },
  comment: { color: 'gray' },
  title: { color: 'blue' },
  attr: { color: 'blue' },
  name: { color: 'blue' },
  section: { color: 'blue', bold: true },
  meta: { color: 'gray' },
};

export function paintDiffRow(painter: Painter, index: number): Row {
  const { diff, patch, glyphs, columns } = painter;
  const { left, right, part } = diff.rows[index]!;
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
    span(glyphs.bar, { color: 'gray' }),
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

/** The line that stands for a file. */
export function fileRow(file: PatchFile, isFolded: boolean, glyphs: Glyphs): Row {
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
const maxLongLines = 50;

function textPiece(painter: Painter, line: number, part: number): Row {
  const { patch, highlighter, diff, longLines, glyphs } = painter;
  if (patch.lines[line]!.length > longLine) {
    let rows = longLines.get(line);
    if (rows === undefined) {
      if (longLines.size >= maxLongLines) longLines.clear();
      const { text, marks } = laidLine(patch, line);
      rows = wrapRow(withMarks([span(text)], marks, glyphs), Math.max(1, diff.textColumns));
      longLines.set(line, rows);
    }
    const row = rows[part] ?? [];
    return diff.split ? row : grounded(patch.kinds[line]!, row);
  }
  const path = patch.files[fileAt(patch, line)]?.path ?? '';
  const coloured = highlighter
    .pieces(patch, line, path)
    .map(({ text, kind }) => span(text, kind === null ? undefined : syntaxStyles[kind]));
  const spans = withMarks(coloured, laidLine(patch, line).marks, glyphs);
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
