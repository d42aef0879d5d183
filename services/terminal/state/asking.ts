import type { Effect, Step } from './messages.ts';
import type { State } from './state.ts';

/** Asks the world for something, and says so until it answers. */
export function asked(state: State, asking: string, effect: Effect): Step<State> {
  const open =
    effect.kind === 'decide' && state.open !== null
      ? {
          ...state.open,
          decided: new Set([...state.open.decided, ...effect.actions.map(({ action_id }) => action_id)]),
        }
      : state.open;
  return { state: { ...state, open, dialog: null, asking }, effects: [effect] };
}
