import type { Highlighter } from '#kit/diff/highlight.ts';
import { wholeRow } from '#kit/diff/line-pairs.ts';
import { lineKinds, type Patch } from '#kit/diff/patch.ts';
import { wordDifferences } from '#kit/diff/word-differences.ts';
import { type Html, html, nothing } from '../html.ts';
import { isCut, lineHtml, shownText } from './line-html.ts';
import type { Rows } from './rows.ts';
import { countedLines, gapBefore, gapLink } from './unshown-lines.ts';

/** What rows are made of. */
export interface RowSource {
  readonly patch: Patch;
  readonly partners: Int32Array;
  readonly highlighter: Highlighter;
  /** Where all of a line is asked for: with its number behind. */
  readonly lineAddress: string;
  /** Where lines are asked for that the patch does not show; null where no file is known. */
  readonly baseAddress: string | null;
}

/** A row of the table of a file; its number in `data-row`, that of the line in `data-line`. */
export function rowHtml(source: RowSource, { left, right }: Rows, row: number, path: string): Html {
  const [one, other] = [left[row]!, right[row]!];
  const { kinds } = source.patch;
  if (other === wholeRow) {
    const kind = kinds[one]!;
    if (kind === lineKinds.header || kind === lineKinds.hunk || kind === lineKinds.note) {
      const name = kind === lineKinds.hunk ? 'hunk-row' : kind === lineKinds.note ? 'note-row' : 'header-row';
      return html`<div role="row" class="row whole ${name}" data-row="${row}"><span role="cell" class="code" data-line="${one}">${textOf(source, one, path)}${kind === lineKinds.hunk ? gapHtml(source, one) : nothing}</span></div>`;
    }
    return html`<div role="row" class="row ${changes[kind] ?? ''}" data-row="${row}">${numberCell(source.patch, one, 'old')}${numberCell(source.patch, one, 'new')}${textCell(source, one, path)}</div>`;
  }
  return html`<div role="row" class="row both" data-row="${row}">${side(source, one, path, 'old')}${side(source, other, path, 'new')}</div>`;
}

/** Class of a changed line, and how it is said. */
const changes: Readonly<Record<number, 'ins' | 'del'>> = {
  [lineKinds.added]: 'ins',
  [lineKinds.removed]: 'del',
};
const changeWords = { ins: 'added', del: 'removed' } as const;

function side(source: RowSource, line: number, path: string, which: 'old' | 'new'): Html {
  if (line === -1)
    return html`<span role="cell" class="number"></span><span role="cell" class="code none"></span>`;
  return html`${numberCell(source.patch, line, which)}${textCell(source, line, path)}`;
}

/** The number of a line on one side; it names the row where the line has that side's text. */
function numberCell({ kinds, oldNumbers, newNumbers }: Patch, line: number, which: 'old' | 'new'): Html {
  const change = changes[kinds[line]!];
  const number = (which === 'old' ? oldNumbers : newNumbers)[line]!;
  if (number === 0) return html`<span role="cell" class="number"></span>`;
  return html`<span role="rowheader" class="number ${change ?? ''}">${change === undefined ? nothing : html`<span class="unseen">${changeWords[change]} </span>`}${number}</span>`;
}

const signs: Readonly<Record<number, string>> = { [lineKinds.added]: '+', [lineKinds.removed]: '-' };

function textCell(source: RowSource, line: number, path: string): Html {
  const { kinds, newNumbers, oldNumbers } = source.patch;
  const kind = kinds[line]!;
  return html`<span role="cell" class="code ${changes[kind] ?? ''}" data-line="${line}" data-number="${newNumbers[line]! || oldNumbers[line]!}"><span class="sign">${signs[kind] ?? ' '}</span>${textOf(source, line, path)}</span>`;
}

/** @param whole also where the line is too long to be shown at first */
export function textOf(source: RowSource, line: number, path: string, whole = false): Html {
  const { patch, highlighter } = source;
  if (isCut(patch, line)) {
    const text = lineHtml(patch, line, { syntax: null, words: null, whole });
    if (whole) return text;
    const length = patch.lines[line]!.length - 1;
    return html`${text}<a class="more" data-do="whole" href="${source.lineAddress}${line}">… all ${length.toLocaleString('en')} characters</a>`;
  }
  const syntax = highlighter.pieces(patch, line, path);
  return lineHtml(patch, line, { syntax, words: wordsOf(source, line), whole });
}

function wordsOf({ patch, partners }: RowSource, line: number) {
  const partner = partners[line]!;
  if (partner === -1) return null;
  const [before, after] = line < partner ? [line, partner] : [partner, line];
  const words = wordDifferences(shownText(patch, before), shownText(patch, after));
  return words === null ? null : line < partner ? words.before : words.after;
}

function gapHtml({ patch, baseAddress }: RowSource, hunk: number): Html {
  const gap = gapBefore(patch, hunk);
  if (gap === null) return nothing;
  const lines = countedLines(gap.end! - gap.from, 'unchanged');
  return gapLink(baseAddress, gap, baseAddress === null ? `${lines} before` : `Show ${lines} before`);
}
