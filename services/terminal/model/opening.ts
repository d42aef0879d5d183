import type { Step } from './messages.ts';
import { openRun, type State } from './state.ts';

/** The page of a run, empty until its data is here. */
export function opening(state: State, run_id: string): Step<State> {
  return { state: { ...state, dialog: null, open: openRun(run_id) }, effects: [{ kind: 'open', run_id }] };
}
