import type { Highlighter } from '#kit/diff/highlight.ts';
import { lineKinds, type Patch, parsePatch } from '#kit/diff/patch.ts';
import { type Html, html, nothing } from '../html.ts';
import { isCut, lineHtml } from './line-html.ts';

/** Lines that a patch neither changes nor shows. They are read from the file as it is before the change. */
export interface Gap {
  /** Index of the file. */
  readonly file: number;
  /** Number of the first line before the change. */
  readonly from: number;
  /** That behind the last; null: the end of the file. */
  readonly end: number | null;
}

/** Unchanged lines around each change of our patches. */
const shownAround = 3;
/** Shown at once; the next ones are asked for. */
const maxLines = 500;

/** Between a hunk and what the patch shows before it. @param hunk its line in the patch */
export function gapBefore(patch: Patch, hunk: number): Gap | null {
  const file = patch.files.findLastIndex(({ first }) => first <= hunk);
  const from = hunksOf(patch, file).findLast(({ line }) => line < hunk)?.oldEnd ?? 1;
  const end = hunkAt(patch, hunk).oldStart;
  return from < end ? { file, from, end } : null;
}

/** Behind the last hunk of a file. git shows fewer unchanged lines there than elsewhere only where the file ends. */
export function gapAfter(patch: Patch, file: number): Gap | null {
  const last = hunksOf(patch, file).at(-1);
  if (last === undefined || !hasBoth(patch, file)) return null;
  const { end } = patch.files[file]!;
  const shown = patch.kinds.subarray(Math.max(last.line + 1, end - shownAround), end);
  const isFull = shown.length === shownAround && shown.every((kind) => kind === lineKinds.context);
  return isFull ? { file, from: last.oldEnd, end: null } : null;
}

/** Whether the file is there before and after the change, as text. */
export function hasBoth(patch: Patch, file: number): boolean {
  const { status } = patch.files[file] ?? {};
  return (
    status !== undefined && status !== 'added' && status !== 'deleted' && hunksOf(patch, file).length > 0
  );
}

/** @param address where lines are asked for; null where no file is known. @param name what the link says */
export function gapLink(address: string | null, { file, from, end }: Gap, name: string): Html {
  if (address === null) return html`<span class="gap">${name}</span>`;
  const query = `&file=${file}&from=${from}${end === null ? '' : `&end=${end}`}`;
  return html`<a class="gap" data-do="base" href="${address}${query}">${name}</a>`;
}

export function countedLines(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what} ${count === 1 ? 'line' : 'lines'}`;
}

export interface GapRows {
  readonly patch: Patch;
  readonly gap: Gap;
  /** The file before the change. */
  readonly text: string;
  readonly split: boolean;
  readonly address: string;
  readonly highlighter: Highlighter;
}

/** Rows of lines next to what the patch shows, with a link to those farther away. */
export function gapRows({ patch, gap, text, split, address, highlighter }: GapRows): Html {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const last = Math.min(gap.end ?? Number.POSITIVE_INFINITY, lines.length + 1);
  const from = gap.end === null ? gap.from : Math.max(gap.from, last - maxLines);
  const end = gap.end === null ? Math.min(last, from + maxLines) : last;
  if (from >= end) return wholeRow(html`The file ends here`);
  const { path } = patch.files[gap.file]!;
  const to = from + shiftAt(patch, gap.file, from);
  // As a patch of its own, so that these lines are shown as those of the change are.
  const header = 4;
  const part = parsePatch(
    ['diff --git a/x b/x', '--- a/x', '+++ b/x', `@@ -${from},${end - from} +${to},${end - from} @@`]
      .concat(lines.slice(from - 1, end - 1).map((line) => ` ${line}`))
      .join('\n'),
  );
  const rows: Html[] = [];
  for (let line = header; line < part.lines.length; line++)
    rows.push(row(part, line, path, split, highlighter));
  const above = gap.end === null || from === gap.from ? null : { ...gap, end: from };
  const below = gap.end !== null || end >= last ? null : { ...gap, from: end };
  const more = (left: Gap | null, count: number) =>
    left === null
      ? nothing
      : wholeRow(gapLink(address, left, `Show ${countedLines(count, 'more unchanged')}`));
  return html`${more(above, from - gap.from)}${rows}${more(below, last - end)}`;
}

function row(part: Patch, line: number, path: string, split: boolean, highlighter: Highlighter): Html {
  const before = html`<span role="cell" class="number">${part.oldNumbers[line]!}</span>`;
  const after = html`<span role="cell" class="number">${part.newNumbers[line]!}</span>`;
  const cut = isCut(part, line);
  const syntax = cut ? null : highlighter.pieces(part, line, path);
  const shown = lineHtml(part, line, { syntax, words: null, whole: false });
  const text = html`<span role="cell" class="code"><span class="sign"> </span>${shown}${cut ? html`… ${part.lines[line]!.length - 1} characters` : nothing}</span>`;
  return split
    ? html`<div role="row" class="row both unshown">${before}${text}${after}${text}</div>`
    : html`<div role="row" class="row unshown">${before}${after}${text}</div>`;
}

function wholeRow(content: Html): Html {
  return html`<div role="row" class="row whole unshown"><span role="cell" class="code">${content}</span></div>`;
}

interface Hunk {
  readonly line: number;
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newEnd: number;
}

/** Read once for each file of a patch: one may have a hundred thousand of them. */
const knownHunks = new WeakMap<Patch['files'][number], readonly Hunk[]>();

function hunksOf(patch: Patch, file: number): readonly Hunk[] {
  const of = patch.files[file];
  if (of === undefined) return [];
  const known = knownHunks.get(of);
  if (known !== undefined) return known;
  const hunks: Hunk[] = [];
  for (let line = of.first; line < of.end; line++)
    if (patch.kinds[line] === lineKinds.hunk) hunks.push(hunkAt(patch, line));
  knownHunks.set(of, hunks);
  return hunks;
}

/** A side without lines is named by the line before it. Source: "Detailed Description of Unified Format" of GNU diffutils. */
function hunkAt({ lines }: Pick<Patch, 'lines'>, line: number): Hunk {
  const [, ...numbers] = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(lines[line]!) ?? [];
  const [oldLine, oldCount, newLine, newCount] = [
    numbers[0] ?? 0,
    numbers[1] ?? 1,
    numbers[2] ?? 0,
    numbers[3] ?? 1,
  ].map(Number);
  const oldStart = oldCount === 0 ? oldLine! + 1 : oldLine!;
  const newStart = newCount === 0 ? newLine! + 1 : newLine!;
  return { line, oldStart, oldEnd: oldStart + oldCount!, newEnd: newStart + newCount! };
}

/** What is added to a line's number before the change to give that after it. */
function shiftAt(patch: Patch, file: number, line: number): number {
  const before = hunksOf(patch, file).findLast(({ oldEnd }) => oldEnd <= line);
  return before === undefined ? 0 : before.newEnd - before.oldEnd;
}
