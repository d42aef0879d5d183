import { exitCodes } from '#kit/errors.ts';
import { runView as runJson } from '../../http/run-view.ts';
import type { ActionState, Run } from '../../runs/run.ts';
import { type CommandContext, watched } from '../command-context.ts';
import { failedStep } from '../failed-validation.ts';
import { writeJson } from '../json-output.ts';
import { actionNamed } from '../selection.ts';
import { runView } from '../views/run-view.ts';

export interface ExecuteOptions {
  readonly repoDir?: string;
  readonly action?: readonly string[];
  readonly dryRun?: boolean;
}

export async function executeApproved(
  context: CommandContext,
  id: string,
  options: ExecuteOptions,
): Promise<number> {
  const { services } = context;
  const agent = await services.agent();
  const before = await agent.run(id);
  const names = options.action ?? [];
  const selected = names.map((name) => actionNamed(before, name).definition.action_id);
  const by = await services.person();
  const run = await watched(context, (watch) =>
    agent.execute(
      {
        run_id: before.run_id,
        repo_dir: options.repoDir ?? null,
        actions: selected.length === 0 ? null : selected,
        dry_run: options.dryRun === true,
        by,
      },
      watch,
    ),
  );
  await writeRun(context, run);
  return executionExitCode(run, selected);
}

export async function resume(context: CommandContext, id: string): Promise<number> {
  const { services } = context;
  const agent = await services.agent();
  const before = await agent.run(id);
  const { run_id } = before;
  const by = await services.person();
  const run = await watched(context, (watch) => agent.resume({ run_id, by }, watch));
  await writeRun(context, run);
  // A planning was resumed: nothing is approved yet, and a plan is what was wanted.
  if (before.plan === null) return run.plan === null ? exitCodes.failed : exitCodes.done;
  return executionExitCode(run, []);
}

/**
 * 0 when everything that was approved (or named) succeeded, 1 when something failed or is unknown, 3 when a safeguard refused
 * it, 5 when what lies behind did not answer before anything was tried. Actions that nobody approved and nobody named are no failure: they wait.
 */
export function executionExitCode(run: Run, named: readonly string[]): number {
  const concerned = run.actions.filter(
    (action) => action.approval === 'approved' || named.includes(action.definition.action_id),
  );
  if (concerned.some(({ state }) => state === 'failed' || state === 'unknown')) return exitCodes.failed;
  const reasons = concerned.flatMap(({ state, outcome }) =>
    state === 'refused' ? [outcome?.facts.exit_code] : [],
  );
  if (reasons.includes(exitCodes.failed)) return exitCodes.failed;
  if (reasons.includes(exitCodes.unavailable)) return exitCodes.unavailable;
  if (concerned.length === 0 || concerned.some(wasRefused)) return exitCodes.refused;
  return run.failure === null ? exitCodes.done : exitCodes.failed;
}

function wasRefused({ state }: ActionState): boolean {
  return state === 'refused' || state === 'blocked';
}

async function writeRun(context: CommandContext, run: Run): Promise<void> {
  const { terminal, suggestions, verbose } = context;
  if (context.json) writeJson(terminal, runJson(run));
  else {
    // On one screen the progress has told already what became of each action.
    const brief = terminal.outIsTerminal && terminal.errIsTerminal;
    const failed = await failedStep(context, run);
    terminal.out(runView(run, terminal, suggestions, { brief, verbose, failed }));
  }
}
