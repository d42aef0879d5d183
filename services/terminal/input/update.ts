import type { RunDetail, RunSummary } from '#kit/contracts/run.ts';
import { risks } from '#kit/contracts/vocabulary.ts';
import { geometryOf } from '../layout/geometry.ts';
import type { Panes } from '../layout/pane-content.ts';
import { withSeen } from '../state/decisions.ts';
import type { Message, Step } from '../state/messages.ts';
import { kept, withRuns } from '../state/runs-list.ts';
import {
  actionOf,
  appliedPatch,
  isBusy,
  type Notice,
  needsApproval,
  type OpenRun,
  type State,
} from '../state/state.ts';
import { only, opening, quitting, withoutPage } from '../state/steps.ts';
import { approvedText } from './deciding.ts';
import { dialogInput } from './dialog-input.ts';
import { newDecisions, whatEnded } from './endings.ts';
import { listInput, withList } from './list-input.ts';
import { followed, keptPlace } from './pane-input.ts';
import { runInput } from './run-input.ts';
import { execute } from './work.ts';

const maxOutputLines = 5_000;

/** The whole behaviour of the interface: what a message makes of the state, and what is to be done about it. */
export function update(state: State, message: Message, panes: Panes): Step<State> {
  switch (message.kind) {
    case 'input':
      return input(state, message, panes);
    case 'resized':
      return only(keptPlace(state, keptOnScreen({ ...state, size: message.size }), panes));
    case 'tick':
      return only({ ...state, now: message.now });
    case 'link':
      return only(linked(state, message.link));
    case 'runs': {
      const runs = withRuns(
        { ...state.runs, complete: message.complete, problems: message.problems },
        message.runs,
      );
      return only(keptOnScreen({ ...state, runs }));
    }
    case 'changed-runs':
      return {
        state: keptOnScreen({ ...state, runs: withRuns(state.runs, message.runs) }),
        // What changed may wait for others now, or not any more.
        effects: state.runs.inbox === null ? [] : [{ kind: 'ask-inbox', again: true }],
      };
    case 'inbox':
      // All were shown again meanwhile.
      if (message.again && state.runs.inbox === null) return only(state);
      return only(withList(state, { ...state.runs, inbox: new Set(message.run_ids) }));
    case 'checkouts':
      return withCheckouts(state, message.names);
    case 'undo-plan':
      if (state.open?.run_id !== message.run_id) return only(state);
      // Keys that are being typed are meant for what is on the screen.
      if (state.dialog !== null) {
        return only({
          ...state,
          asking: null,
          notice: late('What an undo would take back is known: press u'),
        });
      }
      return only({ ...state, asking: null, dialog: { kind: 'undo', steps: message.steps, top: 0 } });
    case 'needs-anyway': {
      if (state.open?.run_id !== message.run_id) return only(state);
      const answered: State = { ...state, asking: null, notice: { tone: 'bad', text: message.text } };
      if (state.dialog !== null) return only(answered);
      const question = { for: 'anyway', decisions: message.decisions } as const;
      return only({ ...answered, dialog: { kind: 'question', question, text: '' } });
    }
    case 'needs-signature': {
      if (state.open?.run_id !== message.run_id) return only(state);
      const answered: State = { ...state, asking: null };
      const { decisions, anyway, said, text } = message;
      if (state.dialog !== null) return only({ ...answered, notice: { tone: 'bad', text } });
      return only({ ...answered, dialog: { kind: 'sign', decisions, anyway, said, text } });
    }
    case 'no-run':
      if (state.open?.detail !== null) return only(state);
      return only({ ...withoutPage(state), notice: { tone: 'bad', text: message.text } });
    case 'planned':
      if (state.open !== null || state.dialog !== null)
        return only({
          ...state,
          asking: null,
          notice: late(`The plan is being made: run ${message.run_id}`),
        });
      return opening({ ...state, asking: null }, message.run_id);
    case 'answered':
      return only({ ...state, asking: null, notice: answered(state, message.notice) ?? state.notice });
    case 'notice':
      return only({ ...state, notice: message.notice });
    case 'executing-here': {
      const dialog = state.dialog?.kind === 'quit' && !message.running ? null : state.dialog;
      return only({ ...state, dialog, executingHere: message.running, asking: null });
    }
    case 'redraw':
      return only({ ...state });
    default:
      return only(state.open === null ? state : followed(openChanged(state, state.open, message), panes));
  }
}

/** What was approved is said with what is missing now. */
function answered({ open }: State, notice: Notice | null): Notice | null {
  if (notice?.approved === undefined || open === null) return notice;
  const { approved, ...rest } = notice;
  const here = approved.every(({ action_id }) => actionOf(open, action_id) !== null);
  return here ? { ...rest, text: approvedText(open, approved) } : rest;
}

function input(state: State, message: Message & { kind: 'input' }, panes: Panes): Step<State> {
  const { input } = message;
  if (input.kind === 'key' && input.key === 'ctrl-c') return quitting(state);
  if (input.kind === 'key' && input.key === 'ctrl-l') return { state, effects: [{ kind: 'repaint' }] };
  // A notice stays until the next key; the key does its work as well.
  const quiet = state.notice === null ? state : { ...state, notice: null };
  if (quiet.dialog !== null) return dialogInput(quiet, quiet.dialog, input, panes);
  if (quiet.open !== null) return runInput(quiet, quiet.open, input, panes);
  return listInput(quiet, input);
}

type OpenMessage = Extract<
  Message,
  {
    kind:
      | 'run'
      | 'patch'
      | 'no-patch'
      | 'issue'
      | 'explanation'
      | 'recorded-output'
      | 'progress'
      | 'sent'
      | 'drawn';
  }
>;

function openChanged(state: State, open: OpenRun, message: OpenMessage): State {
  if (message.kind === 'drawn') {
    const seen = withSeen(open, message.shown);
    return seen === open ? state : { ...state, open: seen };
  }
  if (message.run_id !== open.run_id) return state;
  if (message.kind === 'run') return withDetail(state, open, message.detail);
  return { ...state, open: withPart(open, message, state.now) };
}

function withPart(
  open: OpenRun,
  message: Exclude<OpenMessage, { kind: 'run' | 'drawn' }>,
  now: number,
): OpenRun {
  switch (message.kind) {
    case 'patch': {
      const applied = open.detail === null ? null : appliedPatch(open.detail);
      return message.digest === applied
        ? { ...open, patch: message.patch, patchDigest: message.digest, patchTrouble: null }
        : open;
    }
    case 'no-patch': {
      const applied = open.detail === null ? null : appliedPatch(open.detail);
      return message.digest === applied ? { ...open, patchTrouble: message.text } : open;
    }
    case 'issue':
      return { ...open, issue: message.issue };
    case 'explanation':
      return { ...open, explanation: message.text };
    case 'recorded-output':
      return { ...open, output: message.lines.slice(-maxOutputLines), recorded: true };
    case 'sent':
      return { ...open, sent: { ...open.sent, [message.action_id]: message.rendered } };
    case 'progress': {
      const { progress } = message;
      if (progress.state === 'info') {
        return open.progress === null
          ? open
          : { ...open, progress: { ...open.progress, message: progress.message } };
      }
      if (progress.state === 'output') {
        const output = [...(open.recorded ? [] : open.output), ...progress.message.split('\n')];
        return { ...open, output: output.slice(-maxOutputLines), recorded: false };
      }
      if (progress.state !== 'started') return { ...open, progress: null };
      // What an earlier try said is over.
      const output = progress.step === 'run_validation' ? [] : open.output;
      const { progress: before } = open;
      const goesOn = before?.step === progress.step && before.action_id === progress.action_id;
      return { ...open, output, progress: { ...progress, since: goesOn ? before.since : now } };
    }
  }
}

function withDetail(state: State, open: OpenRun, detail: RunDetail): State {
  const selected = open.selected === '' ? firstItem(detail) : open.selected;
  const running = open.following ? detail.actions.find(({ state }) => state === 'running') : undefined;
  const isSame = open.detail !== null && appliedPatch(open.detail) === appliedPatch(detail);
  const keptPatch = isSame ? {} : { patch: null, patchDigest: null, patchTrouble: null };
  const decidedNow = new Set(newDecisions(open.detail, detail).map(({ action_id }) => action_id));
  const next: OpenRun = {
    ...open,
    run_id: detail.run_id,
    decided: new Set([...open.decided].filter((id) => !decidedNow.has(id))),
    ...keptPatch,
    detail,
    selected: running?.action_id ?? selected,
    pane:
      running === undefined || running.action_id === selected
        ? open.pane
        : { ...open.pane, top: 0, tail: true },
    progress: isBusy(detail) ? open.progress : null,
  };
  const runs = withRuns(
    state.runs,
    [summaryOf(state, detail)].filter((run) => run !== null),
  );
  const notice = whatEnded(open, detail) ?? state.notice;
  return keptOnScreen({ ...state, open: next, runs, notice });
}

/** What a person most likely came for: what waits, else the beginning. */
function firstItem({ actions }: RunDetail): string {
  const wrong = actions.find(({ state }) => state === 'failed' || state === 'unknown');
  const waiting = actions.find(needsApproval);
  return (wrong ?? waiting ?? actions[0])?.action_id ?? 'plan';
}

/** The run's row in the list as its page has it now. */
function summaryOf({ runs }: State, detail: RunDetail): RunSummary | null {
  const { run_id, status, updated_at, actions, waiting, waits_for } = detail;
  const row = runs.known.get(run_id);
  if (row === undefined) return null;
  const levels: readonly string[] = risks;
  const highest = actions.reduce((high, { risk }) => Math.max(high, levels.indexOf(risk)), -1);
  return {
    ...row,
    status,
    updated_at,
    actions: actions.length,
    highest_risk: levels[highest] ?? null,
    waiting,
    waits_for,
  };
}

function keptOnScreen(state: State): State {
  const { bodyRows } = geometryOf({ ...state, open: null });
  return { ...state, runs: kept(state.runs, Math.max(1, bodyRows - 1)) };
}

/** What was said of a connection is over with it. */
function linked(state: State, link: State['link']): State {
  const { notice } = state;
  return { ...state, link, notice: link.state === 'live' && notice?.about === 'link' ? null : notice };
}

function withCheckouts(state: State, checkouts: readonly string[]): Step<State> {
  const next = { ...state, checkouts };
  const asked = state.dialog?.kind === 'execute' && state.open !== null;
  return asked ? execute(next, state.open!) : only(next);
}

function late(text: string): State['notice'] {
  return { tone: 'plain', text };
}
