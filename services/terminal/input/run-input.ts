import { geometryOf } from '../layout/geometry.ts';
import type { Panes } from '../layout/pane-content.ts';
import type { Input } from '../screen/keys.ts';
import type { Step } from '../state/messages.ts';
import { actionOf, itemsOf, type OpenRun, type State } from '../state/state.ts';
import { only, withoutPage } from '../state/steps.ts';
import { approve, approveGate, continueReview, reject } from './deciding.ts';
import { clickedFile, copy, edit, paneInput, placeAtTop, scrolled } from './pane-input.ts';
import { browse, cancel, execute, resume, undo } from './work.ts';

export function runInput(state: State, open: OpenRun, input: Input, panes: Panes): Step<State> {
  if (input.kind === 'wheel') return wheel(state, open, input, panes);
  if (input.kind === 'click') return only(clicked(state, open, input, panes));
  if (input.kind === 'paste') return only(state);
  const { key } = input;
  if (open.review !== null && key === 'enter') return continueReview(state, open, panes);
  switch (key) {
    case 'a':
      return approve(state, open, panes);
    case 'r':
      return reject(state, open);
    case 'C':
      return reject(state, open, placeAtTop(state, open, panes));
    case 'y':
      return copy(state, open, panes);
    case 'e':
      return edit(state, open, panes);
    case 'A':
      return approveGate(state, open);
    case 'x':
      return execute(state, open);
    case 'u':
      return undo(state, open);
    case 'c':
      return cancel(state, open);
    case 'R':
      return resume(state, open);
    case 'o':
      return browse(state, open);
    case '?':
      return only({ ...state, dialog: { kind: 'help', top: 0 } });
    case 'enter':
      return only({ ...state, open: { ...open, zoomed: !open.zoomed } });
    case 'escape':
    case 'q':
    case 'left':
    case 'h':
      return back(state, open);
    case 'tab':
      return only(selectBy(state, open, 1));
    case 'shift-tab':
      return only(selectBy(state, open, -1));
    case 'down':
    case 'j':
    case 'up':
    case 'k':
      if (!open.zoomed) return only(selectBy(state, open, key === 'down' || key === 'j' ? 1 : -1));
  }
  return paneInput(state, open, key, panes);
}

function back(state: State, open: OpenRun): Step<State> {
  if (open.review !== null) {
    return only({ ...state, open: { ...open, review: null, zoomed: false } });
  }
  if (open.zoomed) return only({ ...state, open: { ...open, zoomed: false } });
  return { state: { ...withoutPage(state), notice: null }, effects: [{ kind: 'close' }] };
}

export function selectBy(state: State, open: OpenRun, by: number): State {
  const items = itemsOf(open);
  const at = Math.max(0, Math.min(items.length - 1, items.indexOf(open.selected) + by));
  return selectItem(state, open, items[at] ?? open.selected);
}

/** Another thing in the pane, from its beginning. */
export function selectItem(state: State, open: OpenRun, key: string): State {
  if (key === open.selected) return state;
  const tail = actionOf(open, key)?.state === 'running';
  return {
    ...state,
    open: { ...open, selected: key, following: false, pane: { ...open.pane, top: 0, tail } },
  };
}

function wheel(state: State, open: OpenRun, input: Input & { kind: 'wheel' }, panes: Panes): Step<State> {
  const { list } = geometryOf(state);
  const overList =
    list !== null &&
    input.row >= list.top &&
    input.row < list.top + list.rows &&
    input.column < list.left + list.columns;
  if (overList) return only(selectBy(state, open, Math.sign(input.lines)));
  return only(scrolled(state, open, input.lines, panes));
}

function clicked(
  state: State,
  open: OpenRun,
  { row, column }: Input & { kind: 'click' },
  panes: Panes,
): State {
  const { list } = geometryOf(state);
  if (open.zoomed) return clickedFile(state, open, row, column, panes);
  if (list === null || column >= list.columns || row < list.top || row >= list.top + list.rows) return state;
  const item = listedItems(open)[listTop(open, list.rows) + row - list.top];
  return item == null ? state : selectItem(state, open, item);
}

/** Rows of the list on a run's page: items, and null for the name of a gate. */
export function listedItems(open: OpenRun): readonly (string | null)[] {
  let gate = '';
  return itemsOf(open).flatMap((key) => {
    const action = actionOf(open, key);
    if (action === null || action.gate === gate) return [key];
    gate = action.gate;
    return [null, key];
  });
}

/** The selection is always on the screen, in the middle of lists that are longer. */
export function listTop(open: OpenRun, rows: number): number {
  const items = listedItems(open);
  const at = items.indexOf(open.selected);
  return Math.max(0, Math.min(at - Math.floor(rows / 2), items.length - rows));
}
