import { visibleLine } from '#kit/cli/terminal-text.ts';
import { safeText, shownPath } from '#kit/diff/line-text.ts';
import type { Patch } from '#kit/diff/patch.ts';
import { fileOnTreeRow } from '../layout/file-tree.ts';
import { type Area, geometryOf, splittable } from '../layout/geometry.ts';
import type { PaneContent, Panes } from '../layout/pane-content.ts';
import { rowText } from '../screen/cell.ts';
import type { Step } from '../state/messages.ts';
import { actionOf, type OpenRun, type Pane, type State } from '../state/state.ts';
import { only } from '../state/steps.ts';

interface Shown {
  readonly area: Area;
  readonly content: PaneContent;
}

/** The pane with what is in it; null where the screen is too small to show it beside the list. */
function shownPane(state: State, open: OpenRun, panes: Panes): Shown | null {
  const { pane } = geometryOf(state);
  return pane === null ? null : { area: pane, content: panes(open, pane).content };
}

/** Keys that move within the pane, or change how it shows the patch. */
export function paneInput(state: State, open: OpenRun, key: string, panes: Panes): Step<State> {
  const shown = shownPane(state, open, panes);
  if (shown === null) return only(state);
  const { area, content } = shown;
  const page = Math.max(1, area.rows - 1);
  const at = open.pane.top;
  switch (key) {
    case 'down':
    case 'j':
    case 'J':
      return only(scrolled(state, open, 1, panes));
    case 'up':
    case 'k':
    case 'K':
      return only(scrolled(state, open, -1, panes));
    case 'page-down':
    case 'ctrl-f':
    case ' ':
      return only(scrolled(state, open, page, panes));
    case 'page-up':
    case 'ctrl-b':
    case 'b':
      return only(scrolled(state, open, -page, panes));
    case 'ctrl-d':
      return only(scrolled(state, open, Math.ceil(page / 2), panes));
    case 'ctrl-u':
      return only(scrolled(state, open, -Math.ceil(page / 2), panes));
    case 'home':
    case 'g':
      return only(movedTo(state, open, 0, shown));
    case 'end':
    case 'G':
      return only(movedTo(state, open, content.count, shown));
    case ']':
    case '[':
      return only(toFile(state, open, key === ']' ? 1 : -1, shown));
    case '}':
    case '{':
      return only(movedTo(state, open, content.nextHunk(at, key === '}' ? 1 : -1), shown));
    case 'z':
      return only(foldFile(state, open, panes));
    case 'Z':
      return only(foldAll(state, open, panes));
    case 't':
      return only(withPane(state, open, { tree: !open.pane.tree }));
    case 'v':
      if (area.columns < splittable) return only(said(state, `Two sides need ${splittable} columns`));
      return only(relaid(state, open, { split: content.split ? 'off' : 'on' }, panes));
    case '/':
      return only({
        ...state,
        dialog: { kind: 'question', question: { for: 'search' }, text: '' },
      });
    case 'n':
    case 'N':
      return only(found(state, open, key === 'n' ? 1 : -1, shown));
    default:
      return only(state);
  }
}

export function scrolled(state: State, open: OpenRun, by: number, panes: Panes): State {
  const shown = shownPane(state, open, panes);
  if (shown === null) return state;
  // From a file near the end there is nothing further down.
  const isBelow = open.pane.top > shown.content.count - shown.area.rows;
  return by > 0 && isBelow ? state : movedTo(state, open, open.pane.top + by, shown);
}

/** In the tree of files a click goes to the file; on a folder to its first one. */
export function clickedFile(state: State, open: OpenRun, row: number, column: number, panes: Panes): State {
  const { pane } = geometryOf(state);
  if (pane === null || open.patch === null) return state;
  const { content, tree } = panes(open, pane);
  if (column - pane.left >= tree) return state;
  const file = fileOnTreeRow(open.patch, fileOnScreen(open, content), pane.rows, row - pane.top);
  return file === null ? state : movedToFile(state, open, file, { area: pane, content });
}

/** Shows the first line that has not been on the screen, with the two before it. */
export function firstUnseen(state: State, open: OpenRun, upTo: number, panes: Panes): State {
  const shown = shownPane(state, open, panes);
  return shown === null ? state : movedTo(state, open, shown.content.rowAt(upTo) - 2, shown);
}

/** What was at the top of the pane before a resize is there after it. */
export function keptPlace(before: State, after: State, panes: Panes): State {
  if (before.open === null || after.open === null) return after;
  const old = shownPane(before, before.open, panes);
  if (old === null || old.content.count === 0 || before.open.pane.top === 0) return after;
  const [line] = old.content.span(Math.min(before.open.pane.top, old.content.count - 1));
  const shown = shownPane(after, after.open, panes);
  return shown === null ? after : movedTo(after, after.open, shown.content.rowAt(Math.floor(line)), shown);
}

/** Where the pane is kept at its end, that end. */
export function followed(state: State, panes: Panes): State {
  const { open } = state;
  if (open === null || !open.pane.tail || actionOf(open, open.selected)?.state !== 'running') return state;
  const shown = shownPane(state, open, panes);
  return shown === null ? state : movedTo(state, open, shown.content.count, shown);
}

function movedTo(state: State, open: OpenRun, row: number, { area, content }: Shown): State {
  const last = Math.max(0, content.count - area.rows);
  return withTop(state, open, Math.max(0, Math.min(row, last)), last);
}

/** Its name is at the top then, also where less than a page follows: so one sees which file it is. */
function movedToFile(state: State, open: OpenRun, file: number, { area, content }: Shown): State {
  const last = Math.max(0, content.count - area.rows);
  return withTop(state, open, content.count <= area.rows ? 0 : content.rowOfFile(file), last);
}

function withTop(state: State, open: OpenRun, top: number, last: number): State {
  const tail = top >= last;
  return top === open.pane.top && tail === open.pane.tail ? state : withPane(state, open, { top, tail });
}

/** The file whose name is at the top or below it, or the one before. */
function toFile(state: State, open: OpenRun, step: 1 | -1, shown: Shown): State {
  const files = open.patch?.files.length ?? 0;
  if (actionOf(open, open.selected)?.kind !== 'apply_patch' || files === 0) return state;
  const here = fileOnScreen(open, shown.content);
  const atName = here >= 0 && shown.content.rowOfFile(here) === open.pane.top;
  const to = step === 1 ? here + 1 : atName ? here - 1 : here;
  if (to < 0) return movedTo(state, open, 0, shown);
  return movedToFile(state, open, Math.min(files - 1, to), shown);
}

export function fileOnScreen(open: OpenRun, content: PaneContent): number {
  return content.fileOnRow(Math.min(open.pane.top, content.count - 1));
}

/** What is at the top stays there when the rows are others. */
function relaid(state: State, open: OpenRun, change: Partial<Pane>, panes: Panes): State {
  const shown = shownPane(state, open, panes);
  if (shown === null) return state;
  const line = shown.content.count === 0 ? 0 : shown.content.span(open.pane.top)[0];
  const changed = withPane(state, open, change);
  const after = shownPane(changed, changed.open!, panes);
  return after === null
    ? changed
    : movedTo(changed, changed.open!, after.content.rowAt(Math.floor(line)), after);
}

function foldFile(state: State, open: OpenRun, panes: Panes): State {
  const shown = shownPane(state, open, panes);
  if (shown === null) return state;
  const visible = Array.from({ length: shown.area.rows }, (_, row) =>
    shown.content.fileOnRow(open.pane.top + row),
  );
  const file = visible.find((one) => one >= 0);
  if (file === undefined) return state;
  const folded = new Set(open.pane.folded);
  if (!folded.delete(file)) folded.add(file);
  const changed = withPane(state, open, { folded });
  const after = shownPane(changed, changed.open!, panes)!;
  return movedTo(changed, changed.open!, Math.min(open.pane.top, after.content.rowOfFile(file)), after);
}

function foldAll(state: State, open: OpenRun, panes: Panes): State {
  const files = open.patch?.files.length ?? 0;
  const folded = open.pane.folded.size < files ? new Set(Array(files).keys()) : new Set<number>();
  return relaid(state, open, { folded }, panes);
}

/** To the next place of the search; files that hold it are unfolded. */
export function found(state: State, open: OpenRun, step: 1 | -1, { area, content }: Shown): State {
  const { search } = open.pane;
  if (search === '') return said(state, 'Search with / first');
  const row = content.find(search, open.pane.top, step);
  if (row === null) return said(state, `'${search}' is not in here`);
  return movedTo(state, open, row, { area, content });
}

/** A new search, from the top of the screen on. */
export function searched(state: State, open: OpenRun, text: string, panes: Panes): State {
  const changed = relaid(state, open, { search: text, folded: new Set() }, panes);
  const shown = shownPane(changed, changed.open!, panes);
  return text === '' || shown === null ? changed : found(changed, changed.open!, 1, shown);
}

/** For example `src/greet.js:12`: the first changed or shown line on the screen; null where the pane shows no change. */
export function placeAtTop(state: State, open: OpenRun, panes: Panes): string | null {
  const shown = shownPane(state, open, panes);
  if (shown === null || open.patch === null || actionOf(open, open.selected)?.kind !== 'apply_patch')
    return null;
  const { content, area } = shown;
  for (let row = open.pane.top; row < Math.min(content.count, open.pane.top + area.rows); row++) {
    const line = Math.floor(content.span(row)[0]) - content.patchBegin;
    const place = content.fileOnRow(row) < 0 ? null : placeOf(open.patch, content.fileOnRow(row), line);
    if (place !== null) return place;
  }
  return null;
}

function placeOf({ files, newNumbers, oldNumbers }: Patch, file: number, line: number): string | null {
  const number = newNumbers[line] || oldNumbers[line] || 0;
  return number === 0 ? null : `${shownPath(files[file]!.path)}:${number}`;
}

/** The text of the pane in the person's editor, at the line that is at its top. */
export function edit(state: State, open: OpenRun, panes: Panes): Step<State> {
  const shown = shownPane(state, open, panes);
  if (shown === null || open.detail === null)
    return only(said(state, 'Nothing is shown that could be opened'));
  const { content } = shown;
  const isPatch = open.patch !== null && actionOf(open, open.selected)?.kind === 'apply_patch';
  if (!isPatch) {
    const rows = Array.from({ length: content.count }, (_, row) => rowText(content.row(row)).trimEnd());
    return { state, effects: [{ kind: 'edit', text: `${rows.join('\n')}\n`, line: open.pane.top + 1 }] };
  }
  const line = Math.floor(content.span(open.pane.top)[0]) - content.patchBegin;
  return {
    state,
    effects: [
      { kind: 'edit', text: `${open.patch!.lines.map(safeText).join('\n')}\n`, line: Math.max(0, line) + 1 },
    ],
  };
}

/** The place in the change, else the address of what is selected, else the run. */
export function copy(state: State, open: OpenRun, panes: Panes): Step<State> {
  const url = actionOf(open, open.selected)?.outcome?.facts.url;
  const text = placeAtTop(state, open, panes) ?? (typeof url === 'string' ? url : open.run_id);
  return { state, effects: [{ kind: 'copy', text, what: visibleLine(text) }] };
}

function said(state: State, text: string): State {
  return { ...state, notice: { tone: 'plain', text } };
}

function withPane(state: State, open: OpenRun, change: Partial<Pane>): State {
  return { ...state, open: { ...open, pane: { ...open.pane, ...change } } };
}
