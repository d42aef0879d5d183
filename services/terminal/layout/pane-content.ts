import { fileAt, layDiff, rowOfLine } from '../diff/diff-rows.ts';
import type { Highlighter } from '../diff/highlight.ts';
import { lineKinds, type Patch } from '../diff/parse-patch.ts';
import { type Row, rowText, type Span, wrapRow } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { fileRow, paintDiffRow } from './diff-painter.ts';
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

/** The row with every place that a search found standing out. */
export function withMatches(row: Row, search: string): Row {
  const text = rowText(row);
  const exact = search !== search.toLowerCase();
  const within = exact ? text : text.toLowerCase();
  // Some capitals have more characters in lower case; positions would not fit then.
  if (within.length !== text.length || !within.includes(search)) return row;
  const marked: Span[] = [];
  let offset = 0;
  for (const part of row) {
    let from = 0;
    for (let at = 0; at < part.text.length; at++) {
      const begins = within.startsWith(search, offset + at);
      if (!begins) continue;
      const end = Math.min(part.text.length, at + search.length);
      if (at > from) marked.push({ ...part, text: part.text.slice(from, at) });
      marked.push({ text: part.text.slice(at, end), style: { ...part.style, inverse: true } });
      from = end;
      at = end - 1;
    }
    if (from < part.text.length) marked.push({ ...part, text: part.text.slice(from) });
    offset += part.text.length;
  }
  return marked;
}
