import { runStatuses } from '#kit/contracts/vocabulary.ts';
import { geometryOf } from '../layout/geometry.ts';
import type { Input } from '../screen/keys.ts';
import type { Step } from '../state/messages.ts';
import { arranged, kept, moved } from '../state/runs-list.ts';
import { type Question, type RunsList, type State, sortings } from '../state/state.ts';
import { only, opening, quitting } from '../state/steps.ts';

/** Rows of the list: the body without the line of column names. */
export function listRows(state: State): number {
  return Math.max(1, geometryOf({ ...state, open: null }).bodyRows - 1);
}

export function listInput(state: State, input: Input): Step<State> {
  const height = listRows(state);
  const move = (by: number): Step<State> => only({ ...state, runs: moved(state.runs, by, height) });
  if (input.kind === 'wheel') return move(input.lines);
  if (input.kind === 'click') return clicked(state, input.row);
  if (input.kind === 'paste') return only(state);
  const { runs } = state;
  switch (input.key) {
    case 'down':
    case 'j':
      return move(1);
    case 'up':
    case 'k':
      return move(-1);
    case 'page-down':
    case 'ctrl-f':
    case ' ':
      return move(height);
    case 'page-up':
    case 'ctrl-b':
      return move(-height);
    case 'home':
    case 'g':
      return move(-runs.rows.length);
    case 'end':
    case 'G':
      return move(runs.rows.length);
    case 'enter':
    case 'right':
    case 'l':
      return runs.selected === null ? only(state) : opening(state, runs.selected);
    case '/':
      return ask(state, { for: 'filter' }, runs.filter);
    case 'escape':
      return only(withList(state, { ...runs, filter: '', statuses: new Set(), inbox: null }));
    case 's': {
      const sorting = sortings[(sortings.indexOf(runs.sorting) + 1) % sortings.length]!;
      const said = { ...state, notice: { tone: 'plain', text: `Sorted by ${sorting}` } } as const;
      return only(withList(said, { ...runs, sorting }));
    }
    case 'f':
      return runs.known.size === 0 ? only(state) : only({ ...state, dialog: { kind: 'statuses', at: 0 } });
    case 'i':
      return runs.inbox === null
        ? { state, effects: [{ kind: 'ask-inbox', again: false }] }
        : only(withList(state, { ...runs, inbox: null }));
    case 'y':
      return runs.selected === null
        ? only(state)
        : { state, effects: [{ kind: 'copy', text: runs.selected, what: runs.selected }] };
    case 'n':
      return ask(state, { for: 'plan' }, '');
    case '?':
      return only({ ...state, dialog: { kind: 'help', top: 0 } });
    case 'q':
      return quitting(state);
    default:
      return only(state);
  }
}

export function withList(state: State, runs: RunsList): State {
  return { ...state, runs: kept(arranged(runs), listRows(state)) };
}

/** Those that some run has. */
export function presentStatuses({ known }: RunsList): readonly string[] {
  const present = new Set<string>([...known.values()].map((run) => run.status));
  return runStatuses.filter((one) => present.has(one));
}

export function toggledStatus(state: State, status: string): State {
  const statuses = new Set(state.runs.statuses);
  if (!statuses.delete(status)) statuses.add(status);
  return withList(state, { ...state.runs, statuses });
}

/** The first click selects, a second one on the same run opens it. */
function clicked(state: State, row: number): Step<State> {
  const { bodyTop } = geometryOf(state);
  const run = state.runs.rows[state.runs.top + row - bodyTop - 1];
  if (run === undefined || row <= bodyTop) return only(state);
  if (run.run_id === state.runs.selected) return opening(state, run.run_id);
  return only({ ...state, runs: { ...state.runs, selected: run.run_id } });
}

function ask(state: State, question: Question, text: string): Step<State> {
  return only({ ...state, dialog: { kind: 'question', question, text } });
}
