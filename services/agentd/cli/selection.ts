import { Conflict, InvalidInput, NotFound } from '#kit/errors.ts';
import type { ActionSelection } from '../agent.ts';
import { isOpen, type JudgedAction, type JudgedRun } from '../runs/run.ts';
import { shortRunId } from './suggestions.ts';

/**
 * The actions that a command line names. Names are numbers, `act_…` (or a unique beginning of it) and kinds. A gate, all, or "up to"
 * mean what can still be decided; they never turn a rejection into an approval: that takes the action's own name.
 */
export function selectActions(
  run: JudgedRun,
  selection: ActionSelection,
  decision: 'approve' | 'reject',
): { readonly selected: readonly JudgedAction[]; readonly leftRejected: readonly JudgedAction[] } {
  const ways = [
    selection.actions.length > 0,
    selection.gate !== undefined,
    selection.all === true,
    selection.up_to !== undefined,
  ].filter(Boolean).length;
  if (ways > 1) {
    throw new InvalidInput(
      'selection_ambiguous',
      'actions are named in more than one way; choose one of: action numbers, --gate, --all, --up-to',
    );
  }
  if (selection.actions.length > 0) {
    const selected = selection.actions.map((name) => actionNamed(run, name));
    return { selected: [...new Set(selected)], leftRejected: [] };
  }
  const group = run.actions.filter((action) => inGroup(action, selection));
  if (selection.up_to !== undefined) requireOrdinal(run, selection.up_to);
  if (group.length === 0 && selection.gate !== undefined) {
    const gates = [...new Set(run.actions.map(({ definition }) => definition.gate))].join(', ');
    throw new NotFound(
      'gate_empty',
      `run ${run.run_id} has no action in the gate ${selection.gate}; it has actions in ${gates || 'none'}`,
      { hint: `./core show ${run.run_id} lists its actions, and why others were not proposed.` },
    );
  }
  const open = group.filter(isOpen);
  const leftRejected = decision === 'approve' ? open.filter(({ approval }) => approval === 'rejected') : [];
  const selected = open.filter((action) => !leftRejected.includes(action));
  if (selected.length === 0) {
    throw new Conflict(
      'nothing_to_decide',
      leftRejected.length > 0
        ? `what is left was rejected (${leftRejected.map(name).join(', ')}); name an action by its number to approve it after all`
        : 'every action of this selection has started already; a decision can be changed only until then',
    );
  }
  return { selected, leftRejected };
}

/** @throws NotFound (`action_not_found`), InvalidInput (`action_ambiguous`) */
export function actionNamed(run: JudgedRun, text: string): JudgedAction {
  const found = run.actions.filter(
    ({ definition }) =>
      String(definition.ordinal) === text ||
      definition.kind === text ||
      definition.action_id === text ||
      (text.startsWith('act_') && definition.action_id.startsWith(text)),
  );
  const exact = found.find(({ definition }) => definition.action_id === text) ?? found[0];
  if (exact !== undefined && (found.length === 1 || exact.definition.action_id === text)) return exact;
  const choices = run.actions.map(name).join(', ') || 'none';
  if (found.length > 1) {
    throw new InvalidInput('action_ambiguous', `action '${text}' means ${found.map(name).join(' or ')}`);
  }
  throw new NotFound('action_not_found', `run ${run.run_id} has no action '${text}'; it has ${choices}`, {
    hint: /^\d+(?:(?:[,-]|\.\.)\d*)+$/.test(text)
      ? 'separate actions with spaces, for example 1 2 3, or take all up to one with --up-to 3'
      : `To look at them:\n./core actions ${shortRunId(run.run_id)}`,
  });
}

function requireOrdinal(run: JudgedRun, ordinal: number): void {
  const last = run.actions.at(-1)?.definition.ordinal ?? 0;
  if (ordinal >= 1 && ordinal <= last) return;
  throw new InvalidInput(
    'invalid_up_to',
    `--up-to ${ordinal} must be a number from 1 to ${last}, the last action`,
  );
}

function inGroup({ definition }: JudgedAction, { gate, all, up_to }: ActionSelection): boolean {
  if (gate !== undefined) return definition.gate === gate;
  if (up_to !== undefined) return definition.ordinal <= up_to;
  return all === true;
}

function name({ definition }: JudgedAction): string {
  return `${definition.ordinal} ${definition.kind}`;
}
