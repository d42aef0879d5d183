import * as t from 'io-ts';
import type { ProposedAction } from '#kit/contracts/action.ts';
import { movedText, type RunDetail } from '#kit/contracts/run.ts';
import { shapeOf } from '../layout/known-params.ts';
import { isPushed, named } from '../state/naming.ts';
import { type Notice, needsApproval, type OpenRun } from '../state/state.ts';

/** Says what work came to when it ends while the page is open; null when nothing ended. */
export function whatEnded({ detail: before, decided }: OpenRun, now: RunDetail): Notice | null {
  if (before === null) return null;
  if (before.status !== 'cancelled' && now.status === 'cancelled') {
    return { tone: 'bad', text: 'The run was cancelled; press n in the list to plan the issue again' };
  }
  if (before.superseded_by === null && now.superseded_by !== null) {
    return {
      tone: 'bad',
      text: `The issue was planned again: ${now.superseded_by} takes the place of this run`,
    };
  }
  if (before.undo?.finished !== true && now.undo?.finished === true) {
    return howUndoEnded(now);
  }
  if (before.status !== 'interrupted' && now.status === 'interrupted') return howItWasCutOff(now);
  if (executionEnded(before, now)) return howItEnded(now);
  return decidedByOthers(newDecisions(before, now).filter(({ action_id }) => !decided.has(action_id)));
}

/** Short executions begin and end between two looks at the run. */
function executionEnded(before: RunDetail, now: RunDetail): boolean {
  if (now.status === 'executing' || now.undo !== null) return false;
  if (before.status === 'executing') return true;
  return (
    now.execution !== null &&
    now.execution.finished === true &&
    now.head.seq > before.head.seq &&
    JSON.stringify(before.execution) !== JSON.stringify(now.execution)
  );
}

const UndoResults = t.array(t.strict({ action_id: t.string, state: t.string, message: t.string }));

function howUndoEnded({ undo, actions, status }: RunDetail): Notice {
  const results = shapeOf(UndoResults, undo?.results) ?? [];
  const stays = results.filter(({ state }) => state !== 'undone');
  if (status === 'undone' && stays.length === 0) return { tone: 'good', text: 'Everything was taken back' };
  const why = stays.map(({ action_id, message }) => {
    const action = actions.find((one) => one.action_id === action_id);
    return `${action === undefined ? action_id : named(action)}: ${message}`;
  });
  const next = undo?.complete === true ? '' : '. u tries the rest again';
  return { tone: 'bad', text: `Not everything was taken back. ${why.join('; ')}${next}` };
}

/** Nobody living works on the run any more: its daemon, or the program that executed it, was killed. */
function howItWasCutOff({ actions, execution }: RunDetail): Notice {
  if (execution === null)
    return { tone: 'bad', text: 'The planning was cut off: who planned is gone. R resumes it' };
  const running = actions.find(({ state }) => state === 'unknown');
  const where = running === undefined ? '' : ` during ${named(running)}`;
  return { tone: 'bad', text: `The execution was cut off${where}: who executed is gone. R resumes it` };
}

function howItEnded(now: RunDetail): Notice {
  const { actions, status, base_moved } = now;
  const failed = actions.find(({ state }) => state === 'failed' || state === 'unknown');
  if (failed !== undefined) {
    const what = `${named(failed)} ${failed.state}: ${failed.outcome?.message ?? ''}`;
    return { tone: 'bad', text: `${what}. x tries again, u takes back what was done` };
  }
  const stuck = actions.find(
    (action) => action.approval === 'approved' && (action.state === 'blocked' || action.state === 'refused'),
  );
  if (stuck !== undefined) {
    return {
      tone: 'bad',
      text: `${named(stuck)} was not executed: ${stuck.outcome?.message ?? stuck.state}`,
    };
  }
  const waits = actions.some(needsApproval);
  const next = waits ? '; A approves the next gate' : '';
  if (waits && base_moved !== null && !isPushed(now)) return { tone: 'bad', text: movedText(base_moved) };
  const { url, number } = actions.find(({ kind }) => kind === 'open_pull_request')?.outcome?.facts ?? {};
  const pull = typeof number === 'number' ? `; the pull request is #${number}` : '';
  const address = typeof url === 'string' ? `, ${url} (o opens it)` : '';
  return {
    tone: 'good',
    text: `Executed; the run is ${status.replaceAll('_', ' ')}${pull}${address}${next}`,
  };
}

export function newDecisions(before: RunDetail | null, now: RunDetail): readonly ProposedAction[] {
  return now.actions.filter((action) => {
    const old = before?.actions.find(({ action_id }) => action_id === action.action_id);
    return old !== undefined && lastDecision(action) !== null && lastAt(old) !== lastAt(action);
  });
}

/** The last one that somebody made; rules may ask for more than it. */
function lastDecision({ decisions, decision }: ProposedAction): ProposedAction['decision'] {
  return decisions?.at(-1) ?? decision;
}

function lastAt(action: ProposedAction): string | undefined {
  return lastDecision(action)?.at;
}

function decidedByOthers(changed: readonly ProposedAction[]): Notice | null {
  if (changed.length === 0) return null;
  return { tone: 'plain', text: changed.map(decisionText).join('; ') };
}

function decisionText(action: ProposedAction): string {
  const last = lastDecision(action)!;
  const { approver, reason, decision } = last;
  const what = decision === 'approve' ? 'approved' : 'rejected';
  const far =
    what === 'approved' && action.approval_progress !== undefined
      ? ` (${action.approval_progress.text})`
      : '';
  return `${approver} ${what} ${named(action)}${far}${reason ? `: ${reason}` : ''}`;
}
