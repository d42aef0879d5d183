import { approverText, type ProposedAction } from '#kit/contracts/action.ts';
import { criticalOf } from '#kit/contracts/approval-word.ts';
import type { Panes } from '../layout/pane-content.ts';
import { decisionOn, gateActions, notYetShown, type Readiness, readiness } from '../state/decisions.ts';
import type { Step } from '../state/messages.ts';
import { named, unapprovedNeeds, whyOver } from '../state/naming.ts';
import {
  actionOf,
  type Decision,
  type Gate,
  isOpen,
  needsApproval,
  type OpenRun,
  type State,
} from '../state/state.ts';
import { asked, only, say } from '../state/steps.ts';
import { firstUnseen } from './pane-input.ts';

/** Approving and rejecting, action by action or gate by gate. */

export const anywayWord = 'anyway';

export function approve(state: State, open: OpenRun, panes: Panes): Step<State> {
  const action = decidable(state, open);
  if ('effects' in action) return action;
  if (action.approval === 'approved' && !needsApproval(action)) {
    const by = action.decision === null ? 'somebody' : approverText(action.decision);
    return say(state, `${named(action)} is approved already, by ${by}`);
  }
  const ready = readiness(open, action);
  if (ready !== 'ready') return show(state, open, action, ready, panes);
  const decision = decisionOn(open, action);
  if (criticalOf([action]).length > 0) return askWord(state, [decision], named(action));
  return decide(state, open, [decision]);
}

/** @param place of a line in the change, which the reason begins with; null where the pane shows none */
export function reject(
  state: State,
  open: OpenRun,
  place: string | null | undefined = undefined,
): Step<State> {
  const action = decidable(state, open);
  if ('effects' in action) return action;
  if (action.approval === 'rejected') {
    const { approver = 'somebody', reason = '' } = action.decision ?? {};
    return say(state, `${named(action)} is rejected already, by ${approver}: ${reason}`);
  }
  if (place === null)
    return say(state, 'No line of a change is at the top of the pane; scroll to it, or reject with r');
  const question = { for: 'reason', decision: decisionOn(open, action), what: named(action) } as const;
  const text = place === undefined ? '' : `${place}: `;
  return only({ ...state, dialog: { kind: 'question', question, text } });
}

/** Opens the list of the gate that the selected action belongs to, or of the first with something to decide. */
export function approveGate(state: State, open: OpenRun): Step<State> {
  const over = whyOver(open.detail);
  if (over !== null) return say(state, over);
  const own = actionOf(open, open.selected)?.gate;
  const gates: readonly Gate[] = own === 'publish' ? ['publish', 'build'] : ['build', 'publish'];
  const gate = gates.find((one) => gateActions(open, one).length > 0);
  if (gate === undefined) return say(state, 'Nothing waits for an approval in this run');
  return only({ ...state, dialog: { kind: 'gate', gate, top: 0 } });
}

/** Enter in the list of a gate: shows what was not yet on the screen, then approves. */
export function confirmGate(state: State, open: OpenRun, gate: Gate): Step<State> {
  if (state.asking !== null) return only(state);
  const next = notYetShown(open, gate)[0];
  if (next !== undefined) return only(review(state, open, gate, next));
  const actions = gateActions(open, gate);
  const decisions = actions.map((action) => decisionOn(open, action));
  const critical = criticalOf(actions);
  if (critical.length > 0)
    return askWord(state, decisions, `the gate ${gate}, with ${critical.map(named).join(', ')}`);
  return decide({ ...state, dialog: null }, open, decisions);
}

/** Enter while the actions of a gate are shown one after the other. */
export function continueReview(state: State, open: OpenRun, panes: Panes): Step<State> {
  const gate = open.review!;
  const selected = actionOf(open, open.selected);
  const left = notYetShown(open, gate);
  const here = left.find(({ action_id }) => action_id === selected?.action_id);
  if (here !== undefined) return show(state, open, here, readiness(open, here), panes);
  if (left[0] !== undefined) return only(review(state, open, gate, left[0]));
  return only({
    ...state,
    open: { ...open, review: null, zoomed: false },
    dialog: { kind: 'gate', gate, top: 0 },
  });
}

export function decide(
  state: State,
  open: OpenRun,
  actions: readonly Decision[],
  anyway = false,
): Step<State> {
  const count = actions.length === 1 ? 'one action' : `${actions.length} actions`;
  const said = approvedText(open, actions);
  const effect = {
    kind: 'decide',
    run_id: open.run_id,
    decision: 'approve',
    actions,
    reason: null,
    anyway,
    said,
  } as const;
  return asked(state, `approving ${count}`, effect);
}

/** What is to be said once these are approved: what comes next, or what is still missing. */
export function approvedText(open: OpenRun, decisions: readonly Decision[]): string {
  const actions = decisions.flatMap(({ action_id }) => actionOf(open, action_id) ?? []);
  const now: OpenRun = {
    ...open,
    detail: open.detail && {
      ...open.detail,
      actions: open.detail.actions.map((action) =>
        actions.includes(action) ? { ...action, approval: 'approved' } : action,
      ),
    },
  };
  const what = actions.length === 1 ? named(actions[0]!) : `${actions.length} actions`;
  const asked = actions.find(({ approval_progress }) => approval_progress?.met === false);
  if (asked !== undefined) {
    const { text, needs } = asked.approval_progress!;
    return `Your approval of ${what} is recorded; ${actions.length === 1 ? 'it' : named(asked)} has ${text}, and needs ${needs}`;
  }
  const missing = new Set(actions.flatMap((action) => unapprovedNeeds(now, action)).map(named));
  if (missing.size === 0) return `Approved ${what}; x executes what is approved`;
  return `Approved ${what}; before it can run ${[...missing].join(', ')} must be approved too`;
}

function decidable(state: State, open: OpenRun): ProposedAction | Step<State> {
  if (state.asking !== null) return only(state);
  const action = actionOf(open, open.selected);
  if (action === null) return say(state, 'Select an action first; this is about the run');
  const over = whyOver(open.detail);
  if (over !== null) return say(state, over);
  if (!isOpen(action)) {
    return say(state, `${named(action)} is ${action.state}; a decision can be changed only until it starts`);
  }
  return action;
}

const whyShown: Readonly<Record<Exclude<Readiness, 'ready'>, string>> = {
  not_seen: 'This is what would be approved; press again when you have read it',
  changed: 'It changed while it was on the screen; read it again before you approve',
  not_whole: 'Not yet on the screen; read it and press again (space: next page)',
};

function show(
  state: State,
  open: OpenRun,
  action: ProposedAction,
  why: Readiness,
  panes: Panes,
): Step<State> {
  if (why === 'ready') return only(state);
  const shown = {
    ...open,
    zoomed: true,
    selected: action.action_id,
    pane: { ...open.pane, top: 0, folded: new Set<number>() },
  };
  const next: State = { ...state, open: shown, notice: { tone: 'bad', text: whyShown[why] } };
  return only(
    why === 'not_whole' ? firstUnseen(next, shown, open.seen[action.action_id]!.upTo, panes) : next,
  );
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
