import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Run } from '../../runs/run.ts';
import { commandLine, type Suggestions, shortRunId } from '../suggestion.ts';
import type { Terminal } from '../terminal.ts';

export interface NextStep {
  readonly label: string;
  readonly command: string;
}

/** What a person can sensibly type now, the most likely first. */
export function nextSteps(run: Run, suggestions: Suggestions): NextStep[] {
  const id = shortRunId(run.run_id);
  const command = (...words: string[]) => commandLine(suggestions, ...words);
  const show: NextStep = { label: 'look', command: command('show', id) };
  const undo: NextStep = { label: 'undo', command: command('undo', id) };
  const again: NextStep = { label: 'plan again', command: command('plan-issue', ...issueWords(run)) };
  const anyway: NextStep = { label: 'plan anyway', command: `${again.command} --anyway` };
  switch (run.status) {
    case 'planning':
    case 'executing':
      return [show, { label: 'stop', command: command('cancel', id) }];
    case 'interrupted':
      return [{ label: 'resume', command: command('resume', id) }, show];
    case 'awaiting_approval':
    case 'partially_completed':
    case 'failed':
      return run.plan === null
        ? [['issue_closed', 'issue_fixed'].includes(run.failure?.code ?? '') ? anyway : again]
        : [...decideOrExecute(run, suggestions, again), ...(started(run) ? [undo] : [])];
    case 'completed':
      return [
        { label: 'recovery', command: command('show', id, '--recovery') },
        { label: 'audit', command: command('verify', id) },
        undo,
      ];
    case 'superseded':
      return [{ label: 'newer', command: command('show', shortRunId(run.superseded_by!)) }];
    case 'rejected':
    case 'undone':
    case 'cancelled':
      return started(run) ? [undo, again] : [again];
  }
}

/** Labelled command lines, two on a line where there is room. */
export function stepLines(steps: readonly NextStep[], terminal: Terminal): string[] {
  const { paint } = terminal;
  const labels = Math.max(...steps.map(({ label }) => label.length), 7);
  const painted = steps.map(({ label, command }) => ({
    text: `${label.padEnd(labels)}  ${visibleLine(command)}`,
    painted: `${paint.dim(label.padEnd(labels))}  ${paint.cyan(visibleLine(command))}`,
  }));
  const lines: string[] = [];
  for (let index = 0; index < painted.length; index += 1) {
    const left = painted[index]!;
    const right = painted[index + 1];
    const pairWidth = 2 + left.text.length + 6 + (right?.text.length ?? 0);
    if (right !== undefined && pairWidth <= Math.min(terminal.width, 100)) {
      lines.push(`  ${left.painted}      ${right.painted}`);
      index += 1;
    } else {
      lines.push(`  ${left.painted}`);
    }
  }
  return lines;
}

function decideOrExecute(run: Run, suggestions: Suggestions, again: NextStep): NextStep[] {
  const id = shortRunId(run.run_id);
  const command = (...words: string[]) => commandLine(suggestions, ...words);
  const dead = deadActions(run);
  const alive = run.actions.filter(({ definition }) => !dead.has(definition.action_id));
  const open = alive.filter(({ state }) => ['pending', 'refused', 'blocked'].includes(state));
  const waiting = open.filter(({ approval }) => approval === 'required');
  const ready = alive.filter(
    ({ approval, state }) =>
      approval === 'approved' && ['pending', 'refused', 'blocked', 'failed', 'unknown'].includes(state),
  );
  const needsCheckout = run.plan?.patch !== null;
  const execute: NextStep = {
    label: 'execute',
    command: command(
      'execute-approved',
      '--run-id',
      id,
      ...(needsCheckout ? ['--repo-dir', run.execution?.repo_dir ?? 'DIR'] : []),
    ),
  };
  const approve: NextStep[] =
    waiting.length === 0
      ? []
      : [{ label: 'approve', command: command('approve', id, '--gate', waiting[0]!.definition.gate) }];
  const look: NextStep = {
    label: 'look',
    command: needsCheckout ? command('diff', id) : command('actions', id, '1'),
  };
  const outdated = dead.size > 0 || run.base_moved !== null;
  if (ready.length > 0) return [execute, ...approve, ...(outdated ? [again] : [])];
  if (dead.size > 0) return [again, look, ...approve];
  const details: NextStep = { label: 'details', command: command('actions', id) };
  const anew = outdated ? [again] : [];
  if (started(run)) return [...approve, ...anew, details];
  return [look, ...approve, ...anew, details];
}

/** Actions of this run that come to nothing: rejected, or a validation that failed, and all that builds on them. */
function deadActions(run: Run): ReadonlySet<string> {
  const dead = new Set<string>();
  for (const { definition, approval, outcome } of run.actions) {
    const ended = approval === 'rejected' || outcome?.code === 'validation_failed';
    if (ended || definition.depends_on.some((id) => dead.has(id))) dead.add(definition.action_id);
  }
  return dead;
}

function started(run: Run): boolean {
  return run.actions.some(({ state }) => ['succeeded', 'failed', 'unknown', 'running'].includes(state));
}

function issueWords(run: Run): string[] {
  const { owner, repo, number } = run.request;
  return ['--owner', owner, '--repo', repo, '--number', String(number)];
}
