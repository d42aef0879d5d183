import { createHash } from 'node:crypto';
import { createHighlighter, type Highlighter } from '#kit/diff/highlight.ts';
import { rawText } from '#kit/diff/line-text.ts';
import { type Patch, parsePatch } from '#kit/diff/patch.ts';
import { textOfBytes } from '#kit/diff/text-of-bytes.ts';
import { InvalidInput } from '#kit/errors.ts';
import { type Html, html, nothing, raw } from '../html.ts';
import { sectionHtml, treeHtml } from './files-html.ts';
import { type RowSource, rowHtml, textOf } from './row-html.ts';
import { type Chunk, chunkRows, partnersOf, type Rows, rowsOf } from './rows.ts';
import { type Gap, gapAfter, gapLink, gapRows, hasBoth } from './unshown-lines.ts';

/**
 * The diff component of the review page. The server has the patch, taken apart as for the terminal interface, and sends rows as
 * HTML; the element `core-diff` (client/diff.js) keeps those near the window and gives the others room.
 *
 * Libraries that were tried, and why none is used:
 * - `@pierre/diffs` 1.6 has virtual rows, but sets `style` attributes on each word and style elements in a shadow root, which the
 *   page's Content-Security-Policy refuses; it comes as modules with bare imports that need a build step, and with Shiki and its
 *   grammars (14 MB) as a second highlighter.
 * - `diff2html` 3.4 makes clean HTML, but all of it at once: 50,000 lines are half a million elements. It reads patches by a parser
 *   of its own, without what git writes of binary files.
 * - `@git-diff-view` 0.1 is made for React, Vue, Solid and Svelte; its core writes `style` attributes too and has no virtual rows.
 *
 * None of them shows bidirectional and invisible characters, which an approval must not depend on.
 */

export type DiffView = 'unified' | 'split';

export interface DiffPlace {
  /** Path under which `rows` and `line` are served, for example `/runs/run_1/diff`. */
  readonly address: string;
  /** Path and query of the page that shows the component in another view. */
  readonly viewAddress: (view: DiffView) => string;
  /** Path of the patch as text, for who has no script. */
  readonly patchAddress: string;
  /** Whether files before the change can be read. */
  readonly hasBase: boolean;
}

/** A patch, ready to be shown in parts. */
export interface Diff {
  /** sha256 of its bytes, in hexadecimal. */
  readonly digest: string;
  /** The component. @param person whose marks and comments the browser keeps */
  page(place: DiffPlace, view: DiffView, person: string): Promise<Html>;
  /** Rows of one part of a file, at most 1,000. @throws InvalidInput where they are not that */
  rows(place: DiffPlace, view: DiffView, from: number, end: number): Promise<Html>;
  /** The row on which a line of the patch stands. @throws InvalidInput where there is no such line */
  rowOf(view: DiffView, line: number): number;
  /** Rows on which a text of the patch's lines stands, in any case, from top to bottom, at most 5,000. @throws InvalidInput where it is empty or longer than 200 characters */
  find(view: DiffView, text: string): readonly number[];
  /** All of a line that is shown in part at first. @throws InvalidInput where there is no such line */
  line(place: DiffPlace, line: number): Html;
  /** Rows that the patch does not show. @param read a file before the change, by its path @throws InvalidInput where there is no such file */
  base(
    place: DiffPlace,
    view: DiffView,
    gap: Gap,
    read: (path: string) => Promise<Uint8Array>,
  ): Promise<Html>;
}

/** Rows that come with the page itself, so that something is there at once, and without a script. */
const firstRows = 3 * chunkRows;
/** Fewer files are seen at once without a list. */
const treeFrom = 4;
/** A chunk of folded lines may have any length; what a request asks for may not. */
const maxRows = 1_000;
const maxSearchedCharacters = 200;
const maxFound = 5_000;

export function openDiff(bytes: Uint8Array, highlighter: Highlighter = createHighlighter()): Diff {
  const patch = parsePatch(textOfBytes(bytes));
  const digest = createHash('sha256').update(bytes).digest('hex');
  const partners = partnersOf(patch);
  const laid: Partial<Record<DiffView, Rows>> = {};

  function rowsIn(view: DiffView): Rows {
    laid[view] ??= rowsOf(patch, view === 'split');
    return laid[view];
  }

  function source(place: DiffPlace, view: DiffView): RowSource {
    const lineAddress = `${place.address}/line?digest=${digest}&line=`;
    return { patch, partners, highlighter, lineAddress, baseAddress: baseAddress(place, view) };
  }

  function baseAddress({ address, hasBase }: DiffPlace, view: DiffView): string | null {
    return hasBase ? `${address}/base?digest=${digest}&view=${view}` : null;
  }

  function after(place: DiffPlace, view: DiffView, file: number): Html {
    const address = baseAddress(place, view);
    const gap = gapAfter(patch, file);
    if (address === null || gap === null) return nothing;
    return html`<div role="rowgroup"><div role="row" class="row whole"><span role="cell" class="code">${gapLink(address, gap, 'Show unchanged lines after')}</span></div></div>`;
  }

  function noLine(line: number): InvalidInput {
    return new InvalidInput('invalid_input', `the diff has ${patch.lines.length} lines, but no line ${line}`);
  }

  async function chunk(
    place: DiffPlace,
    view: DiffView,
    file: number,
    from: number,
    end: number,
  ): Promise<Html> {
    const rows = rowsIn(view);
    const path = patch.files[file]?.path ?? '';
    await highlighter.ready(path);
    const from_ = source(place, view);
    const parts: Html[] = [];
    for (let row = from; row < end; row++) parts.push(rowHtml(from_, rows, row, path));
    return html`${parts}`;
  }

  return {
    digest,
    async page(place, view, person) {
      const rows = rowsIn(view);
      const id = (file: number) => `diff-file-${file}`;
      const rowsAddress = `${place.address}/rows?digest=${digest}&view=${view}`;
      const address = ({ from, end }: Chunk) =>
        `${rowsAddress}&from=${from}&end=${Math.min(end, from + maxRows)}`;
      let left = firstRows;
      const first = new Map<number, Html>();
      for (const { file, chunks } of rows.sections) {
        for (const { from, end, folded } of chunks) {
          if (folded !== null || left <= 0) continue;
          first.set(from, await chunk(place, view, file, from, end));
          left -= end - from;
        }
        if (left <= 0) break;
      }
      const sections = rows.sections.map((section) =>
        sectionHtml({
          ...{ patch, section, id, address },
          rows: ({ from }) => first.get(from) ?? null,
          after: (file) => after(place, view, file),
        }),
      );
      return html`<core-diff class="diff ${view}" data-digest="${digest}" data-view="${view}" data-rows="${rowsAddress}" data-person="${person}">
${toolbar(patch, place, view)}
${left > 0 ? nothing : html`<p class="diff-noscript">Without scripts only the beginning of each long part is shown. <a href="${place.patchAddress}">The whole patch as text</a></p>`}
<div class="diff-columns">
${patch.files.length >= treeFrom ? treeHtml(patch, id) : nothing}
<div class="diff-files">${sections}</div>
</div>
${draftHtml}
<p class="unseen" role="status" data-said></p>
</core-diff>`;
    },
    async rows(place, view, from, end) {
      const rows = rowsIn(view);
      const section = rows.sections.find(({ chunks }) =>
        chunks.some((one) => one.from <= from && from < end && end <= one.end),
      );
      if (section === undefined || end - from > maxRows)
        throw new InvalidInput(
          'invalid_input',
          `rows ${from} to ${end} are not at most ${maxRows.toLocaleString('en')} rows of one part of this diff`,
        );
      return chunk(place, view, section.file, from, end);
    },
    rowOf(view, line) {
      const { left, right } = rowsIn(view);
      const row = left.indexOf(line);
      const found = row === -1 ? right.indexOf(line) : row;
      if (line < 0 || found === -1) throw noLine(line);
      return found;
    },
    find(view, text) {
      if (text.trim() === '' || text.length > maxSearchedCharacters)
        throw new InvalidInput(
          'invalid_input',
          `a text of 1 to ${maxSearchedCharacters} characters is searched for, not of ${text.length}`,
        );
      const wanted = text.toLowerCase();
      const holds = (line: number) => line >= 0 && rawText(patch, line).toLowerCase().includes(wanted);
      const { left, right } = rowsIn(view);
      const found: number[] = [];
      for (let row = 0; row < left.length && found.length < maxFound; row++)
        if (holds(left[row]!) || holds(right[row]!)) found.push(row);
      return found;
    },
    line(place, line) {
      if (patch.lines[line] === undefined) throw noLine(line);
      const file = patch.files.findLast(({ first }) => first <= line);
      return textOf(source(place, 'unified'), line, file?.path ?? '', true);
    },
    async base(place, view, gap, read) {
      const address = baseAddress(place, view);
      const file = patch.files[gap.file];
      if (address === null || file === undefined || !hasBoth(patch, gap.file) || gap.from < 1)
        throw new InvalidInput('invalid_input', `the diff has no unchanged lines of a file ${gap.file}`);
      const text = textOfBytes(await read(file.oldPath ?? file.path));
      await highlighter.ready(file.path);
      return gapRows({ patch, gap, text, split: view === 'split', address, highlighter });
    },
  };
}

function toolbar({ files }: Patch, { viewAddress, patchAddress }: DiffPlace, view: DiffView): Html {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  const link = (to: DiffView, name: string) =>
    html`<a href="${viewAddress(to)}" data-view="${to}" ${view === to ? raw('aria-current="true"') : nothing}>${name}</a>`;
  return html`<div class="diff-tools" role="toolbar" aria-label="Diff">
<span class="diff-size">${files.length} ${files.length === 1 ? 'file' : 'files'} <span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>
<span class="choice">${link('unified', 'Unified')}${link('split', 'Side by side')}</span>
<a href="${patchAddress}">Raw patch</a>
<span data-viewed></span>
<span class="scripted">
<button type="button" data-do="previous-hunk" aria-keyshortcuts="{">Previous change</button>
<button type="button" data-do="next-hunk" aria-keyshortcuts="}">Next change</button>
<button type="button" data-do="comment" aria-keyshortcuts="C">Comment on the line</button>
<button type="button" data-do="fold-all" aria-keyshortcuts="Z">Fold all</button>
<button type="button" data-do="wrap" aria-pressed="false" aria-keyshortcuts="w">Wrap lines</button>
<span class="group"><label class="find"><span class="unseen">Search in the change</span><input type="search" data-find maxlength="${maxSearchedCharacters}" placeholder="Search" size="14" aria-keyshortcuts="/"></label>
<button type="button" data-do="previous-found" aria-keyshortcuts="N" aria-label="Previous match">↑</button>
<button type="button" data-do="next-found" aria-keyshortcuts="n" aria-label="Next match">↓</button>
<span data-found role="status"></span></span>
</span>
</div>`;
}

/** Comments wait here until they are put into a text of the page: `data-diff-into` names what it is. */
const draftHtml = html`<aside class="diff-draft" aria-label="Comments on lines" hidden>
<h3>Comments on lines</h3>
<ol></ol>
<p><button type="button" data-do="put" data-into="reason">Put into the reason of a rejection</button> <button type="button" data-do="put" data-into="note">Put into a note to the next plan</button> <button type="button" data-do="copy">Copy</button></p>
</aside>`;
