import { visibleLine } from '#kit/cli/terminal-text.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { RepositoryRef } from '../../ports/forge.ts';
import type { Run } from '../../runs/run.ts';
import type { Terminal } from '../terminal.ts';

/** How people call the program, so that suggested commands work from where they are. */
export interface Suggestions {
  /** `./core`, `core-agentd`, or however this program was started. */
  readonly program: string;
  /** The value of `--home`; undefined when it was not given. */
  readonly home: string | undefined;
}

/** Joins words to a line for a POSIX shell, with `--home` where this command had it. */
export function commandLine({ program, home }: Suggestions, ...words: readonly string[]): string {
  const all = home === undefined ? words : [...words, '--home', home];
  return [program, ...all.map(shellWord)].join(' ');
}

/** The words that name an issue in a command. */
export function issueWords({ owner, repo, number }: RepositoryRef & { readonly number: number }): string[] {
  return ['--owner', owner, '--repo', repo, '--number', String(number)];
}

/**
 * Short enough to type and still unique: the id's time in full, 48 bits of milliseconds.
 * Two runs share it only when they were made in the same millisecond; the commands then ask for more.
 */
export function shortRunId(runId: string): string {
  return runId.slice(0, 'run_'.length + 13);
}

export function runName({ request: { owner, repo, number }, run_id }: Run): string {
  return `${visibleLine(`${owner}/${repo}#${number}`)}  ${shortRunId(run_id)}`;
}

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
  const again: NextStep = { label: 'plan again', command: command('plan-issue', ...issueWords(run.request)) };
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
        : [...decideOrExecute(run, command, again), ...(started(run) ? [undo] : [])];
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
export function stepLines(steps: readonly NextStep[], { paint, width }: Terminal): string[] {
  const labels = Math.max(...steps.map(({ label }) => label.length), 7);
  const lines: string[] = [];
  let room = 0;
  for (const { label, command } of steps) {
    const text = `${label.padEnd(labels)}  ${visibleLine(command)}`;
    const painted = `${paint.dim(label.padEnd(labels))}  ${paint.cyan(visibleLine(command))}`;
    if (lines.length > 0 && text.length + 6 <= room) {
      lines.push(`${lines.pop()}      ${painted}`);
      room = 0;
    } else {
      lines.push(`  ${painted}`);
      room = Math.min(width, 100) - 2 - text.length;
    }
  }
  return lines;
}

function decideOrExecute(run: Run, command: (...words: string[]) => string, again: NextStep): NextStep[] {
  const id = shortRunId(run.run_id);
  const dead = deadActions(run);
  const alive = run.actions.filter(({ definition }) => !dead.has(definition.action_id));
  const open = alive.filter(({ state }) => ['pending', 'refused', 'blocked'].includes(state));
  const waiting = open.filter(({ approval }) => approval === 'required');
  const ready = alive.filter(
    ({ approval, state }) =>
      approval === 'approved' && ['pending', 'refused', 'blocked', 'failed', 'unknown'].includes(state),
  );
  const needsCheckout = run.plan?.patch !== null;
  const checkout = needsCheckout ? ['--repo-dir', run.execution?.repo_dir ?? 'DIR'] : [];
  const execute: NextStep = {
    label: 'execute',
    command: command('execute-approved', '--run-id', id, ...checkout),
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
  const replan = outdated ? [again] : [];
  if (ready.length > 0) return [execute, ...approve, ...replan];
  if (dead.size > 0) return [again, look, ...approve];
  const details: NextStep = { label: 'details', command: command('actions', id) };
  return [...(started(run) ? [] : [look]), ...approve, ...replan, details];
}

/** Actions of this run that cannot succeed: rejected, or a validation that failed, and all that builds on them. */
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
