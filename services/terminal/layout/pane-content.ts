import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Highlighter } from '#kit/diff/highlight.ts';
import { lineKinds, type Patch } from '#kit/diff/patch.ts';
import { type Row, rowText, type Span, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { actionOf, appliedPatch, type OpenRun } from '../state/state.ts';
import { contextLines, issueLines, planLines } from './about-run.ts';
import { fileRow, paintDiffRow } from './diff-painter.ts';
import { type DiffRow, type DiffRows, fileAt, layDiff, rowOfLine } from './diff-rows.ts';
import { type Area, splitsFor } from './geometry.ts';
import { payloadOf } from './payload.ts';
import { line, type TextLine, wrapLine } from './text-lines.ts';

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
  const diffEnd = before.length + (diff?.rows.length ?? 0);
  const count = diffEnd + after.length;
  const painter =
    patch === null || diff === null
      ? null
      : { patch, diff, columns, nameRow, longLines: new Map(), glyphs, highlighter };

  function textRow(index: number): TextRow | undefined {
    return index < before.length ? before[index] : after[index - diffEnd];
  }
  const inDiff = (index: number): boolean => index >= before.length && index < diffEnd;
  const diffRow = (index: number): DiffRow => diff!.rows[index - before.length]!;

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
      const row = inDiff(index) ? paintDiffRow(painter!, index - before.length) : (textRow(index)?.row ?? []);
      return search === '' ? row : withMatches(row, search);
    },
    span(index) {
      if (inDiff(index)) {
        const { begin, end } = diffRow(index);
        return [patchBegin + begin, patchBegin + end];
      }
      const row = textRow(index);
      return row === undefined ? [payloadEnd, payloadEnd] : [row.begin, row.end];
    },
    rowAt,
    fileOnRow: (index) => (inDiff(index) ? fileAt(patch!, diffRow(index).left) : -1),
    rowOfFile: (file) => rowAt(patchBegin + (patch?.files[file]?.first ?? 0)),
    nextHunk(index, step) {
      for (let at = index + step; at >= 0 && at < count; at += step) {
        if (!inDiff(at)) continue;
        const { left, part } = diffRow(at);
        if (left >= 0 && part === 0 && isBeginning(patch!, left)) return at;
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
  return lines.flatMap((one, index) => {
    const wrapped = wrapLine(one, columns);
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

/** Content of the pane for what is selected; rebuilt only when something that it shows has changed. */
export type Panes = (open: OpenRun, area: Area) => { readonly content: PaneContent; readonly tree: number };

const treeFrom = 110;

export function createPanes(glyphs: Glyphs, highlighter: Highlighter): Panes {
  let key: readonly unknown[] = [];
  let content: PaneContent | null = null;

  // A run is read again at each of its events; its patch stays where it is.
  let laid: { key: readonly unknown[]; rows: DiffRows } | null = null;
  const lay: Lay = (patch, layout) => {
    const { columns, split, folded } = layout;
    const key = [patch, columns, split, folded];
    if (laid === null || key.some((value, index) => value !== laid!.key[index])) {
      laid = { key, rows: layDiff(patch, layout) };
    }
    return laid.rows;
  };

  return (open, area) => {
    const { selected, detail, patch, patchTrouble, issue, explanation, output, sent, pane } = open;
    const action = actionOf(open, selected);
    const withTree =
      action?.kind === 'apply_patch' && pane.tree && open.zoomed && (patch?.files.length ?? 0) > 1;
    const tree = withTree && area.columns >= treeFrom ? Math.min(44, Math.floor(area.columns / 4)) : 0;
    const columns = area.columns - (tree === 0 ? 0 : tree + 1);
    const split = splitsFor(pane.split, columns);
    const { folded, search } = pane;
    const texts = [patch, patchTrouble, issue, explanation, output, sent];
    const shows = [selected, detail, ...texts, columns, split, folded, search];
    if (content === null || shows.some((value, index) => value !== key[index])) {
      key = shows;
      const { covered, after, shownPatch } = linesOf(open, glyphs);
      content = makePane(
        { covered, after, patch: shownPatch, columns, split, folded, search },
        glyphs,
        highlighter,
        lay,
      );
    }
    return { content, tree };
  };
}

function linesOf(
  open: OpenRun,
  glyphs: Glyphs,
): { covered: readonly TextLine[]; after: readonly TextLine[]; shownPatch: Patch | null } {
  const look = { glyphs };
  const action = actionOf(open, open.selected);
  if (action === null) {
    const lines =
      open.selected === 'issue'
        ? issueLines(open, look)
        : open.selected === 'plan'
          ? planLines(open, look)
          : contextLines(open, look);
    return { covered: lines, after: [], shownPatch: null };
  }
  const payload = payloadOf(open, action, look);
  if (!payload.patch) return { ...payload, shownPatch: null };
  if (open.patch !== null) return { ...payload, shownPatch: open.patch };
  // Until the patch is there the action has not been shown.
  return { covered: [...payload.covered, withoutPatch(open)], after: [], shownPatch: null };
}

function withoutPatch({ detail, patchTrouble }: OpenRun): TextLine {
  if (patchTrouble !== null) return unshown(patchTrouble);
  if (detail !== null && appliedPatch(detail) === null)
    return unshown('the plan and its action do not name one and the same patch');
  return line(span('The patch is being read', { color: 'yellow' }));
}

function unshown(why: string): TextLine {
  const text = `The patch cannot be shown, and so it cannot be approved here: ${visibleLine(why)}`;
  return line(span(text, { color: 'red' }));
}
