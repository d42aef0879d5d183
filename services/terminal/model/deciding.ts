import type { ProposedAction } from '#kit/contracts/action.ts';
import { decisionOn, gateActions, notYetShown, type Readiness, readiness } from './decisions.ts';
import type { Step } from './messages.ts';
import { actionOf, type Decision, type Gate, isOpen, type OpenRun, type State } from './state.ts';

/** Approving and rejecting, action by action or gate by gate. */

export const approvalWord = 'approve';

export function approve(state: State, open: OpenRun): Step<State> {
  const action = decidable(state, open);
  if ('effects' in action) return action;
  if (action.approval === 'approved') {
    const by = action.decision?.approver ?? 'somebody';
    return say(state, `${named(action)} is approved already, by ${by}`);
  }
  const ready = readiness(open, action);
  if (ready !== 'ready') return show(state, open, action, ready);
  const decision = decisionOn(open, action);
  if (action.risk === 'critical') return askWord(state, [decision], named(action));
  return decide(state, open, [decision]);
}

export function reject(state: State, open: OpenRun): Step<State> {
  const action = decidable(state, open);
  if ('effects' in action) return action;
  if (action.approval === 'rejected') return say(state, `${named(action)} is rejected already`);
  const question = { for: 'reason', decision: decisionOn(open, action) } as const;
  return only({ ...state, dialog: { kind: 'question', question, text: '' } });
}

/** Opens the list of the gate that the selected action belongs to, or of the first with something to decide. */
export function approveGate(state: State, open: OpenRun): Step<State> {
  const own = actionOf(open, open.selected)?.gate;
  const gates: readonly Gate[] = own === 'publish' ? ['publish', 'build'] : ['build', 'publish'];
  const gate = gates.find((one) => gateActions(open, one).length > 0);
  if (gate === undefined) return say(state, 'Nothing waits for an approval in this run');
  return only({ ...state, dialog: { kind: 'gate', gate, top: 0 } });
}

/** Enter in the list of a gate: shows what was not yet on the screen, then approves. */
export function confirmGate(state: State, open: OpenRun, gate: Gate): Step<State> {
  const next = notYetShown(open, gate)[0];
  if (next !== undefined) return only(review(state, open, gate, next));
  const actions = gateActions(open, gate);
  const decisions = actions.map((action) => decisionOn(open, action));
  const critical = actions.filter(({ risk }) => risk === 'critical');
  if (critical.length > 0)
    return askWord(state, decisions, `the gate ${gate}, with ${critical.map(named).join(', ')}`);
  return decide({ ...state, dialog: null }, open, decisions);
}

/** Enter while the actions of a gate are shown one after the other. */
export function continueReview(state: State, open: OpenRun): Step<State> {
  const gate = open.review!;
  const selected = actionOf(open, open.selected);
  const left = notYetShown(open, gate);
  const here = left.find(({ action_id }) => action_id === selected?.action_id);
  if (here !== undefined) return show(state, open, here, readiness(open, here));
  if (left[0] !== undefined) return only(review(state, open, gate, left[0]));
  return only({
    ...state,
    open: { ...open, review: null, zoomed: false },
    dialog: { kind: 'gate', gate, top: 0 },
  });
}

export function decide(state: State, open: OpenRun, actions: readonly Decision[]): Step<State> {
  const count = actions.length === 1 ? 'one action' : `${actions.length} actions`;
  return {
    state: { ...state, dialog: null, asking: `approving ${count}` },
    effects: [{ kind: 'decide', run_id: open.run_id, decision: 'approve', actions, reason: null }],
  };
}

export function named({ ordinal, kind }: ProposedAction): string {
  return `${ordinal} ${kind}`;
}

function decidable(state: State, open: OpenRun): ProposedAction | Step<State> {
  const action = actionOf(open, open.selected);
  if (action === null) return say(state, 'Select an action first; this is about the run');
  if (open.detail?.undo != null) return say(state, 'The run was undone; plan the issue again to decide anew');
  if (!isOpen(action)) {
    return say(state, `${named(action)} is ${action.state}; a decision can be changed only until it starts`);
  }
  return action;
}

const whyShown: Readonly<Record<Exclude<Readiness, 'ready'>, string>> = {
  not_seen: 'This is what would be approved; press again when you have read it',
  changed: 'It changed while it was on the screen; read it again before you approve',
  not_whole: 'It goes on: what was not on the screen is not approved (space, page down)',
};

function show(state: State, open: OpenRun, action: ProposedAction, why: Readiness): Step<State> {
  if (why === 'ready') return only(state);
  const top = why === 'not_whole' && open.selected === action.action_id ? open.pane.top : 0;
  const shown = {
    ...open,
    zoomed: true,
    selected: action.action_id,
    pane: { ...open.pane, top, folded: new Set<number>() },
  };
  return only({ ...state, open: shown, notice: { tone: 'bad', text: whyShown[why] } });
}

function review(state: State, open: OpenRun, gate: Gate, action: ProposedAction): State {
  const pane = { ...open.pane, top: 0, folded: new Set<number>() };
  return {
    ...state,
    dialog: null,
    open: { ...open, review: gate, zoomed: true, selected: action.action_id, pane },
  };
}

function askWord(state: State, decisions: readonly Decision[], what: string): Step<State> {
  return only({
    ...state,
    dialog: { kind: 'question', question: { for: 'word', decisions, what }, text: '' },
  });
}

function say(state: State, text: string): Step<State> {
  return only({ ...state, notice: { tone: 'plain', text } });
}

function only(state: State): Step<State> {
  return { state, effects: [] };
}
