import type { Step } from './messages.ts';
import type { State } from './state.ts';

/** Ends the program; asks first where that would cut off what it executes, unless it has asked already. */
export function quitting(state: State): Step<State> {
  if (state.executingHere && state.dialog?.kind !== 'quit') {
    return { state: { ...state, dialog: { kind: 'quit' } }, effects: [] };
  }
  return { state, effects: [{ kind: 'quit' }] };
}
