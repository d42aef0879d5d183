import type { Panes } from '../layout/pane-content.ts';
import type { Input } from '../screen/keys.ts';
import type { Step } from '../state/messages.ts';
import type { Dialog, Gate, Place, State } from '../state/state.ts';
import { asked, only, say } from '../state/steps.ts';
import { answerQuestion } from './answers.ts';
import { confirmGate } from './deciding.ts';
import { presentStatuses, toggledStatus, withList } from './list-input.ts';
import { executing } from './work.ts';

const maxTextLength = 4_000;

export function dialogInput(state: State, dialog: Dialog, input: Input, panes: Panes): Step<State> {
  const closed = leaving(state, dialog);
  if (input.kind === 'key' && input.key === 'escape') return only(closed);
  if (dialog.kind === 'question') return typed(state, dialog, input, panes);
  if (input.kind === 'paste' || input.kind === 'click') return only(state);
  const key = input.kind === 'wheel' ? (input.lines > 0 ? 'down' : 'up') : input.key;
  if (key === 'q') return only(closed);
  switch (dialog.kind) {
    case 'gate':
      return gateKey(state, dialog, key);
    case 'execute':
      return executeKey(state, dialog, key);
    case 'undo':
      if (key === 'y' && takesBack(dialog) && state.open !== null) {
        return asked(state, 'taking back', { kind: 'undo', run_id: state.open.run_id, shown: dialog.steps });
      }
      if (key === 'n' || (key === 'enter' && !takesBack(dialog))) return only(closed);
      return key === 'enter'
        ? say(state, 'Nothing is undone yet: y takes it back, n leaves it as it is')
        : only(scrolledDialog(state, dialog, key));
    case 'quit':
      if (key === 'y') return { state, effects: [{ kind: 'quit' }] };
      if (key === 'enter') return say(state, 'y leaves and cuts the execution off, n stays');
      return only(key === 'n' ? closed : state);
    case 'cancel':
      if (key === 'y' && state.open !== null)
        return asked(state, 'cancelling', { kind: 'cancel', run_id: state.open.run_id });
      if (key === 'enter')
        return say(state, 'Nothing is cancelled yet: y cancels the run, n leaves it as it is');
      return only(key === 'n' ? closed : state);
    case 'sign':
      return signKey(state, dialog, key);
    case 'statuses':
      return statusesKey(state, dialog, key);
    case 'help':
      return key === '?' || key === 'enter' ? only(closed) : only(scrolledDialog(state, dialog, key));
  }
}

/** Closed without an answer; whoever asked for an undo reads that there was none. */
function leaving(state: State, dialog: Dialog): State {
  const closed = { ...state, dialog: null };
  if (dialog.kind !== 'undo' || !takesBack(dialog)) return closed;
  return { ...closed, notice: { tone: 'plain', text: 'Nothing was undone; u asks again' } };
}

/** Whether an answer to it changes something. */
export function decides(dialog: Dialog | null): boolean {
  if (dialog === null || dialog.kind === 'help' || dialog.kind === 'statuses') return false;
  return dialog.kind !== 'question' || ['word', 'anyway', 'reason'].includes(dialog.question.for);
}

export function takesBack({ steps }: Dialog & { kind: 'undo' }): boolean {
  return steps.some(({ effect }) => effect === 'undo');
}

function signKey(state: State, dialog: Dialog & { kind: 'sign' }, key: string): Step<State> {
  const { decisions: actions, anyway, said } = dialog;
  if (key === 'y' && state.open !== null)
    return asked(state, 'signing', { kind: 'sign', run_id: state.open.run_id, actions, anyway, said });
  if (key === 'enter') return say(state, 'Nothing is signed yet: y signs and approves, n leaves it as it is');
  return only(key === 'n' ? { ...state, dialog: null } : state);
}

function gateKey(state: State, dialog: Dialog & { kind: 'gate' }, key: string): Step<State> {
  if (state.open === null) return only({ ...state, dialog: null });
  if (key === 'enter') return confirmGate(state, state.open, dialog.gate);
  if (key === 'tab') {
    const gate: Gate = dialog.gate === 'build' ? 'publish' : 'build';
    return only({ ...state, dialog: { kind: 'gate', gate, top: 0 } });
  }
  return only(scrolledDialog(state, dialog, key));
}

function statusesKey(state: State, dialog: Dialog & { kind: 'statuses' }, key: string): Step<State> {
  const all = presentStatuses(state.runs);
  const to = (at: number) =>
    only({ ...state, dialog: { ...dialog, at: Math.max(0, Math.min(all.length - 1, at)) } });
  switch (key) {
    case 'down':
    case 'j':
      return to(dialog.at + 1);
    case 'up':
    case 'k':
      return to(dialog.at - 1);
    case ' ':
      return only(all[dialog.at] === undefined ? state : toggledStatus(state, all[dialog.at]!));
    case 'a':
      return only(withList(state, { ...state.runs, statuses: new Set() }));
    case 'enter':
    case 'f':
      return only({ ...state, dialog: null });
    default:
      return only(state);
  }
}

function executeKey(state: State, dialog: Dialog & { kind: 'execute' }, key: string): Step<State> {
  const { open } = state;
  if (open === null) return only({ ...state, dialog: null });
  const { places, at, actions } = dialog;
  if (key === 'down' || key === 'j' || key === 'tab')
    return only({ ...state, dialog: { ...dialog, at: Math.min(places.length + 1, at + 1) } });
  if (key === 'up' || key === 'k') return only({ ...state, dialog: { ...dialog, at: Math.max(0, at - 1) } });
  if (key !== 'enter') return only(state);
  const { run_id } = open;
  const place = places[at];
  // Behind the places stand another folder, and none.
  if (!changesCode(state) || at > places.length)
    return executing(state, { kind: 'execute', run_id, checkout: null, actions });
  if (place !== undefined) return executeAt(state, run_id, place, actions);
  const question = { for: 'path', actions } as const;
  return only({ ...state, dialog: { kind: 'question', question, text: state.here ?? '' } });
}

function executeAt(state: State, run_id: string, place: Place, actions: readonly string[]): Step<State> {
  return executing(
    state,
    'name' in place
      ? { kind: 'execute', run_id, checkout: place.name, actions }
      : { kind: 'execute-here', run_id, folder: place.folder, actions },
  );
}

/** Whether an execution of the open run has to deliver a branch somewhere. */
export function changesCode({ open }: State): boolean {
  const target = (open?.detail?.plan as { target?: { branch?: string | null } } | null)?.target;
  return target?.branch != null;
}

function scrolledDialog(
  state: State,
  dialog: Exclude<Dialog, { kind: 'question' | 'execute' | 'sign' | 'cancel' | 'quit' | 'statuses' }>,
  key: string,
): State {
  const by = { down: 1, j: 1, up: -1, k: -1, 'page-down': 10, ' ': 10, 'page-up': -10 }[key] ?? 0;
  return { ...state, dialog: { ...dialog, top: Math.max(0, dialog.top + by) } };
}

function typed(state: State, dialog: Dialog & { kind: 'question' }, input: Input, panes: Panes): Step<State> {
  const { text, question } = dialog;
  const change = (next: string): Step<State> => {
    const changed: State = { ...state, dialog: { ...dialog, text: next.slice(0, maxTextLength) } };
    // The list follows what is typed.
    return only(question.for === 'filter' ? withList(changed, { ...changed.runs, filter: next }) : changed);
  };
  if (input.kind === 'paste') return change(text + input.text.replace(/[\r\n\t]+/g, ' '));
  if (input.kind !== 'key') return only(state);
  const { key } = input;
  if (key === 'enter') return answerQuestion(state, question, text, panes);
  if (key === 'backspace') return change([...text].slice(0, -1).join(''));
  if (key === 'ctrl-u') return change('');
  if (key === 'ctrl-w') return change(text.replace(/\S+\s*$/, ''));
  return [...key].length === 1 ? change(text + key) : only(state);
}
