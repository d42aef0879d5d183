import { hostname } from 'node:os';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { sha256 } from '#kit/digest.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { approvedCommit, draftOf, isOpen, type JudgedRun } from '../../runs/run.ts';
import { isExpired, needsDecision, whatIsOpen } from '../../runs/what-is-open.ts';
import { commandLine, issueWords, type NextStep, type Suggestions, shortRunId } from '../suggestions.ts';

/** What `plan` is asked with for the same again. */
function planWords({ request, issue }: JudgedRun): string[] {
  const { owner, repo, number, task } = request;
  if (number !== null) return [subjectOf({ owner, repo, number })];
  // A longer task is not in what is known of a run, but for its title.
  const isWhole = issue !== null && task?.content === sha256(issue.title);
  return ['--repository', `${owner}/${repo}`, '--task', isWhole ? issue.title : 'TASK'];
}

export function runName({ request, run_id }: JudgedRun): string {
  return `${visibleLine(subjectOf(request))}  ${shortRunId(run_id)}`;
}

/** What a person can sensibly type now, the most likely first. What was refused is not suggested again. */
export function nextSteps(run: JudgedRun, suggestions: Suggestions, now: Date): NextStep[] {
  const id = shortRunId(run.run_id);
  const command = (...words: string[]) => commandLine(suggestions, ...words);
  const show: NextStep = { label: 'look', command: command('show', id) };
  const undo: NextStep = { label: 'undo', command: command('undo', id) };
  const again: NextStep = { label: 'plan again', command: command('plan', ...planWords(run)) };
  const anyway: NextStep = { label: 'plan anyway', command: `${again.command} --anyway` };
  if (run.undo?.complete === true) return [again];
  if (run.undo?.finished === true) return [undo, again];
  switch (run.status) {
    case 'planning':
    case 'executing':
      return [show, { label: 'stop', command: command('cancel', id) }];
    case 'interrupted':
      return isUnsaid(run)
        ? [{ label: 'execute', command: command('execute-approved', '--run-id', id) }, show]
        : [{ label: 'resume', command: command('resume', id) }, show];
    case 'awaiting_approval':
    case 'partially_completed':
    case 'failed':
      return run.plan === null
        ? [
            ...(draftOf(run) === null ? [] : [{ label: 'draft', command: command('diff', id, '--draft') }]),
            ['issue_closed', 'issue_fixed'].includes(run.failure?.code ?? '') ? anyway : again,
          ]
        : [...decideOrExecute(run, command, again, now), ...(started(run) ? [undo] : [])];
    case 'completed':
      return [
        ...pullStep(run, command),
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

/** A pull request without a page of its own, as those of the local forge, is looked at by a command. */
function pullStep(
  { actions, request: { owner, repo } }: JudgedRun,
  command: (...words: string[]) => string,
): NextStep[] {
  const { number, url } =
    actions.find(({ definition }) => definition.kind === 'open_pull_request')?.outcome?.facts ?? {};
  if (typeof number !== 'number' || (typeof url === 'string' && url !== '')) return [];
  return [{ label: 'look', command: command('forge', 'pr', 'show', ...issueWords({ owner, repo, number })) }];
}

function decideOrExecute(
  run: JudgedRun,
  command: (...words: string[]) => string,
  again: NextStep,
  now: Date,
): NextStep[] {
  const id = shortRunId(run.run_id);
  const { dead, ready, stuck, waiting } = whatIsOpen(run, now);
  const needsCheckout = run.plan?.patch !== null;
  // Without it the branch goes to the checkout that the person is in.
  const said = run.execution?.checkout_named !== false;
  // A path on another host is nothing here.
  const { host = null } = run.execution?.checkout ?? {};
  const isHere = host === null || host === hostname();
  const repoDir = needsCheckout && said && isHere ? run.execution?.repo_dir : undefined;
  const checkout =
    repoDir === undefined ? [] : repoDir === null ? ['--no-repo-dir'] : ['--repo-dir', repoDir];
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
  if (dead.size > 0) return [...(approvedAnyway(run, now) ? [execute] : []), again, look, ...approve];
  if (stuck[0] !== undefined) {
    const why = command('actions', id, String(stuck[0].definition.ordinal));
    return [{ label: 'why', command: why }, ...approve, again];
  }
  const details: NextStep = { label: 'details', command: command('actions', id) };
  return [...(started(run) ? [] : [look]), ...approve, ...replan, details];
}

/** Somebody approved what builds on a failed validation after it had failed: an execution validates again first. */
function approvedAnyway({ actions }: JudgedRun, now: Date): boolean {
  const failed = actions.find(({ outcome }) => outcome?.code === 'validation_failed');
  if (failed?.finished_at == null || isExpired(failed, now)) return false;
  const ended = Date.parse(failed.finished_at);
  return actions.some(
    (action) =>
      isOpen(action) &&
      action.approval === 'approved' &&
      !needsDecision(action, now) &&
      action.decision !== null &&
      Date.parse(action.decision.at) >= ended,
  );
}

/** Nobody said where the branch goes, and the commit is still ahead: resuming would be refused. */
function isUnsaid(run: JudgedRun): boolean {
  return run.execution?.checkout_named === false && approvedCommit(run) !== undefined;
}

function started(run: JudgedRun): boolean {
  return run.actions.some(({ state }) => ['succeeded', 'failed', 'unknown', 'running'].includes(state));
}
