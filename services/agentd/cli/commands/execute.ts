import { type Command, Option } from 'commander';
import { confirm } from '#kit/cli/confirm.ts';
import { exitCodes, Interrupted } from '#kit/errors.ts';
import type { Watch } from '../../agent.ts';
import { runView as runJson } from '../../http/run-view.ts';
import type { ActionState, JudgedRun as StoredRun } from '../../runs/run.ts';
import { answer, type CommandContext, type Run, type RunOption, runNamed, withRun } from '../command.ts';
import { notEmpty } from '../option-values.ts';
import { watched, watchedPlanning } from '../progress.ts';
import { actionNamed } from '../selection.ts';
import type { Terminal } from '../terminal.ts';

/** Commands that carry out what was approved, stop it, or take it back. */

interface ExecuteOptions extends RunOption {
  /** false: none, by `--no-repo-dir`. */
  readonly repoDir?: string | false;
  readonly action?: readonly string[];
  readonly dryRun?: boolean;
}

export function executeApproved(program: Command, run: Run): void {
  withRun(program.command('execute-approved'))
    .description('run the approved actions, exactly as previewed')
    .option(
      '--repo-dir <dir>',
      'your checkout, which gets the branch (default: the one that you are in)',
      notEmpty('--repo-dir'),
    )
    .option('--no-repo-dir', 'without a checkout: the branch reaches the forge alone')
    .option('--action <id...>', 'only these, by number, act_… or kind')
    .option('--dry-run', 'every check runs, no effect happens')
    .action(
      run(async (context, id: string | undefined, options: ExecuteOptions) => {
        const { agent, person } = context.services;
        const { action: names = [], dryRun: dry_run = false } = options;
        const before = await agent.run(await runNamed(context, id, options, 'execute-approved', 'execute'));
        const selected = names.map((name) => actionNamed(before, name).definition.action_id);
        const actions = selected.length === 0 ? null : selected;
        const { repoDir } = options;
        const here = async () => (await agent.checkoutFor(before, process.cwd())) ?? undefined;
        const repo_dir = repoDir === false ? null : (repoDir ?? (await here()));
        const request = { run_id: before.run_id, repo_dir, actions, dry_run, by: await person() };
        const after = await watched(context, (watch) => agent.execute(request, watch));
        return answerExecution(context, after, executionExitCode(after, selected));
      }),
    );
}

export function resume(program: Command, run: Run): void {
  withRun(program.command('resume'))
    .description('continue a run that a crash interrupted')
    .action(
      run(async (context, id: string | undefined, options: RunOption) => {
        const { agent, person } = context.services;
        const { run_id, plan } = await agent.run(await runNamed(context, id, options, 'resume', 'resume'));
        const by = await person();
        const goOn = (watch: Watch) => agent.resume({ run_id, by }, watch);
        const after = await (plan === null ? watchedPlanning(context, run_id, goOn) : watched(context, goOn));
        // A resumed planning has nothing approved yet: it is done when there is a plan.
        const planned = after.plan === null ? exitCodes.failed : exitCodes.done;
        return answerExecution(context, after, plan === null ? planned : executionExitCode(after, []));
      }),
    );
}

export async function answerExecution(
  context: CommandContext,
  run: StoredRun,
  exitCode: number,
): Promise<number> {
  const { terminal, suggestions, verbose } = context;
  // On one screen the progress has shown each action already.
  const brief = terminal.outIsTerminal && terminal.errIsTerminal;
  const { failedStep, runView } = await import('../views/of-run.ts');
  const text = async () =>
    runView(run, terminal, suggestions, { brief, verbose, failed: await failedStep(context, run) });
  return answer(context, runJson(run), text, exitCode);
}

/**
 * 0 when everything that was approved (or named) succeeded, 1 when something failed or is unknown, 3 when a safeguard refused
 * it, 5 when a service did not answer before anything was tried. Actions that nobody approved are no failure: they wait. Where
 * nothing could run, `execute` throws.
 */
export function executionExitCode(run: StoredRun, named: readonly string[]): number {
  const concerned = run.actions.filter(
    (action) => action.approval === 'approved' || named.includes(action.definition.action_id),
  );
  const isIn = (...states: ActionState['state'][]) => concerned.some(({ state }) => states.includes(state));
  if (isIn('failed', 'unknown')) return exitCodes.failed;
  const reasons = concerned.flatMap(({ state, outcome }) =>
    state === 'refused' ? [outcome?.facts.exit_code] : [],
  );
  if (reasons.includes(exitCodes.failed)) return exitCodes.failed;
  if (reasons.includes(exitCodes.unavailable)) return exitCodes.unavailable;
  if (concerned.length === 0 || isIn('refused', 'blocked')) return exitCodes.refused;
  return run.failure === null ? exitCodes.done : exitCodes.failed;
}

interface UndoOptions extends RunOption {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function undo(program: Command, run: Run): void {
  withRun(program.command('undo'))
    .description('take back what a run did: pull request, remote branch, delivered branch')
    .option('--dry-run', 'only show what would be taken back')
    .option('--yes', 'do not ask; without a terminal, this is the default')
    .action(
      run(async (context, id: string | undefined, options: UndoOptions) => {
        const { services, terminal, json } = context;
        const { agent } = services;
        const before = await agent.run(await runNamed(context, id, options, 'undo', 'undo'));
        const { run_id } = before;
        const steps = await agent.undoPlan(run_id);
        const { undoPlanView, undoResultView } = await import('../views/of-run.ts');
        const plan = () => undoPlanView(before, steps, terminal);
        if (options.dryRun === true) return answer(context, { run_id, steps }, plan);
        if (!json) {
          terminal.err(`${plan()}\n`);
          if (options.yes !== true && steps.length > 0 && !(await isWanted(terminal))) return exitCodes.done;
        }
        const by = await services.person();
        const after = await watched(context, (watch) => agent.undo({ run_id, by }, watch), false);
        const exitCode = after.undo?.complete === true ? exitCodes.done : exitCodes.failed;
        return answer(context, runJson(after), () => undoResultView(after, steps, terminal), exitCode);
      }),
    );
}

/** Asks on a terminal; a script that calls it has decided. */
async function isWanted(terminal: Terminal): Promise<boolean> {
  if (process.stdin.isTTY !== true || !terminal.errIsTerminal) return true;
  try {
    const { symbols } = terminal;
    const wanted = await confirm({
      message: 'Take this back?',
      default: false,
      symbols,
      output: process.stderr,
    });
    if (!wanted) terminal.err('Nothing was taken back.\n');
    return wanted;
  } catch (cause) {
    throw new Interrupted('interrupted', 'stopped by you; nothing was taken back', { cause });
  }
}

export function cancel(program: Command, run: Run): void {
  withRun(program.command('cancel'))
    .description('stop a run; an effect that has started finishes')
    .option('--reason <text>', 'why')
    .action(
      run(async (context, id: string | undefined, options: RunOption & { readonly reason?: string }) => {
        const { agent, person } = context.services;
        const { run_id } = await agent.run(await runNamed(context, id, options, 'cancel'));
        const after = await agent.cancel({ run_id, by: await person(), reason: options.reason ?? null });
        const { runView } = await import('../views/of-run.ts');
        return answer(context, runJson(after), () => runView(after, context.terminal, context.suggestions));
      }),
    );
}

interface RecoverOptions extends RunOption {
  readonly acceptLoss?: boolean;
  readonly fromMirror?: boolean;
  readonly reason?: string;
}

export function recover(program: Command, run: Run): void {
  withRun(program.command('recover'))
    .description('show what the record of a run lost, and let the run go on without it')
    .option('--accept-loss', 'go on from the last sound event; needs a token with the scope admin')
    .option('--reason <text>', 'why; recorded')
    .addOption(
      new Option(
        '--from-mirror',
        'put back what the database lost and the mirror on this host has; needs a token with the scope admin',
      ).conflicts('acceptLoss'),
    )
    .action(
      run(async (context, id: string | undefined, options: RecoverOptions) => {
        const { services, terminal, suggestions } = context;
        const record = await services.agent.record(await runNamed(context, id, options, 'recover'));
        const { recordView, runView } = await import('../views/of-run.ts');
        if (options.fromMirror === true) {
          const by = await services.person();
          const after = await services.agent.restoreRecord({ run_id: record.run_id, by });
          return answer(context, runJson(after), () => runView(after, terminal, suggestions));
        }
        if (options.acceptLoss !== true) {
          const exitCode = record.problem === null ? exitCodes.done : exitCodes.failed;
          return answer(context, record, () => recordView(record, terminal, suggestions), exitCode);
        }
        const { run_id } = record;
        const by = await services.person();
        const after = await services.agent.recoverRecord({ run_id, reason: options.reason ?? '', by });
        return answer(context, runJson(after), () => runView(after, terminal, suggestions));
      }),
    );
}
