import { issueFacts, planFacts } from '../layout/about-run.ts';
import type { Effect, Step } from '../state/messages.ts';
import { whyOver } from '../state/naming.ts';
import { actionOf, type OpenRun, type Place, type State } from '../state/state.ts';
import { asked, only, say } from '../state/steps.ts';

/** What can be done with a run as a whole. */

export function executable({ detail }: OpenRun) {
  return (detail?.actions ?? []).filter(
    ({ approval, state }) => approval === 'approved' && state !== 'succeeded' && state !== 'undone',
  );
}

export function execute(state: State, open: OpenRun): Step<State> {
  const { detail } = open;
  if (detail === null) return only(state);
  if (detail.status === 'executing') return say(state, 'The run is being executed already');
  const over = whyOver(detail);
  if (over !== null) return say(state, over);
  if (executable(open).length === 0) {
    return say(state, 'Nothing that is approved waits to be executed; approve with a or A');
  }
  const actions = executable(open).map(({ action_id }) => action_id);
  if (planFacts(open).target?.branch == null) {
    return only({ ...state, dialog: { kind: 'execute', places: [], at: 0, actions } });
  }
  const names = (state.checkouts ?? []).map((name) => ({ name }));
  const before = detail.execution?.repo_dir;
  const folders: Place[] = typeof before === 'string' ? [{ folder: before, about: 'as before' }] : [];
  if (state.here !== null && state.here !== before)
    folders.push({ folder: state.here, about: 'where you are' });
  const places: Place[] = [...folders, ...names];
  const { repo } = detail.request as { repo?: string };
  const own = places.findIndex(
    (place) => ('name' in place ? place.name : folderRepository(place, state)) === repo,
  );
  const at = typeof before === 'string' ? 0 : Math.max(0, own);
  return only({ ...state, dialog: { kind: 'execute', places, at, actions } });
}

function folderRepository({ folder }: Place & { folder: string }, state: State): string | null {
  return folder === state.here ? (state.hereRepository?.repo ?? null) : null;
}

export function undo(state: State, open: OpenRun): Step<State> {
  if (open.detail === null) return only(state);
  if (open.detail.execution === null) return say(state, 'Nothing was executed; there is nothing to undo');
  return {
    state: { ...state, asking: 'asking what an undo would take back' },
    effects: [{ kind: 'ask-undo', run_id: open.run_id }],
  };
}

/** Only what is going on, or could, is cancelled; it is asked first. */
export function cancel(state: State, { detail }: OpenRun): Step<State> {
  if (detail === null) return only(state);
  if (['completed', 'cancelled', 'undone', 'rejected', 'failed', 'superseded'].includes(detail.status)) {
    return say(state, `The run is ${detail.status}; there is nothing to cancel`);
  }
  return only({ ...state, dialog: { kind: 'cancel' } });
}

export function resume(state: State, open: OpenRun): Step<State> {
  const status = open.detail?.status;
  const resumable: readonly (string | undefined)[] = [undefined, 'interrupted', 'executing', 'planning'];
  if (status !== undefined && !resumable.includes(status) && !wasCutOff(open)) {
    const next = executable(open).length > 0 ? '; x executes what is approved' : '';
    return say(state, `The run is ${status.replaceAll('_', ' ')}; there is nothing to resume${next}`);
  }
  return asked(state, 'resuming', { kind: 'resume', run_id: open.run_id });
}

/** Whether something is left of which nobody knows how it ended. */
export function wasCutOff({ detail }: OpenRun): boolean {
  return (
    detail?.status === 'interrupted' || (detail?.actions.some(({ state }) => state === 'unknown') ?? false)
  );
}

/** What the person selected where it has an address, else the pull request, else the issue. */
export function browse(state: State, open: OpenRun): Step<State> {
  const actions = open.detail?.actions ?? [];
  const pull = actions.find(({ kind }) => kind === 'open_pull_request')?.outcome?.facts.url;
  // A selection that only followed the execution is nobody's choice.
  const own = open.following ? undefined : actionOf(open, open.selected)?.outcome?.facts.url;
  const url = [
    open.selected === 'issue' ? issueFacts(open).html_url : own,
    pull,
    issueFacts(open).html_url,
  ].find((one) => typeof one === 'string' && /^https?:\/\//.test(one));
  if (typeof url !== 'string') return say(state, 'This forge has no web page for it');
  return { state, effects: [{ kind: 'browse', url }] };
}

/** The page shows what is executed from now on. */
export function executing(state: State, effect: Effect & { kind: 'execute' | 'execute-here' }): Step<State> {
  const open = state.open === null ? null : { ...state.open, following: true, zoomed: false };
  return asked({ ...state, open }, 'starting', effect);
}
