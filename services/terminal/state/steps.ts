import type { Effect, Step } from './messages.ts';
import { openRun, type State } from './state.ts';

export function only(state: State): Step<State> {
  return { state, effects: [] };
}

export function say(state: State, text: string): Step<State> {
  return only({ ...state, notice: { tone: 'plain', text } });
}

const maxLeftPages = 100;

/** The page of a run: what was read of it before and where, and its data as soon as it is here. */
export function opening(state: State, run_id: string): Step<State> {
  const closed = withoutPage(state);
  const open = { ...openRun(run_id), ...closed.left.get(run_id) };
  const runs = closed.runs.known.has(run_id) ? { ...closed.runs, selected: run_id } : closed.runs;
  return { state: { ...closed, runs, dialog: null, open }, effects: [{ kind: 'open', run_id }] };
}

/** What was on the screen of the page's actions stays known; it holds for their digests alone. */
export function withoutPage(state: State): State {
  const { open } = state;
  if (open === null) return state;
  const left = new Map(state.left);
  left.delete(open.run_id);
  left.set(open.run_id, { seen: open.seen, selected: open.selected, pane: open.pane });
  for (const run_id of left.keys()) if (left.size > maxLeftPages) left.delete(run_id);
  return { ...state, open: null, left };
}

/** Ends the program; asks first where that would cut off what it executes, unless it has asked already. */
export function quitting(state: State): Step<State> {
  if (state.executingHere && state.dialog?.kind !== 'quit') {
    return { state: { ...state, dialog: { kind: 'quit' } }, effects: [] };
  }
  return { state, effects: [{ kind: 'quit' }] };
}

/** Performs an effect; the status line names it until its answer comes. */
export function asked(state: State, asking: string, effect: Effect): Step<State> {
  const open =
    (effect.kind === 'decide' || effect.kind === 'sign') && state.open !== null
      ? {
          ...state.open,
          decided: new Set([...state.open.decided, ...effect.actions.map(({ action_id }) => action_id)]),
        }
      : state.open;
  return { state: { ...state, open, dialog: null, asking }, effects: [effect] };
}
