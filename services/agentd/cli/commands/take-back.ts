import { exitCodes, Interrupted } from '#kit/errors.ts';
import { runView as runJson } from '../../http/run-view.ts';
import { type CommandContext, watched } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import type { Terminal } from '../terminal.ts';
import { pruneView, recordView, undoPlanView, undoResultView } from '../views/reports.ts';
import { runView } from '../views/run-view.ts';

/** Commands that take something back or away. */

export interface UndoOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function undo(context: CommandContext, id: string, options: UndoOptions): Promise<number> {
  const { services, terminal } = context;
  const agent = await services.agent();
  const before = await agent.run(id);
  const steps = await agent.undoPlan(before.run_id);
  if (options.dryRun === true) {
    if (context.json) writeJson(terminal, { run_id: before.run_id, steps });
    else terminal.out(undoPlanView(before, steps, terminal));
    return exitCodes.done;
  }
  if (!context.json) {
    terminal.err(`${undoPlanView(before, steps, terminal)}\n`);
    if (options.yes !== true && steps.length > 0 && !(await isWanted(terminal))) return exitCodes.done;
  }
  const by = await services.person();
  const run = await watched(context, (watch) => agent.undo({ run_id: before.run_id, by }, watch), false);
  if (context.json) writeJson(terminal, runJson(run));
  else terminal.out(undoResultView(run, terminal));
  const failed = run.undo?.results.some(({ state }) => state === 'failed') ?? false;
  return failed || run.status !== 'undone' ? exitCodes.failed : exitCodes.done;
}

/** Asks who sits at a terminal; whoever calls it otherwise has decided. */
async function isWanted(terminal: Terminal): Promise<boolean> {
  if (process.stdin.isTTY !== true || !terminal.errIsTerminal) return true;
  const { confirm } = await import('@inquirer/prompts');
  try {
    const wanted = await confirm({ message: 'Take this back?', default: false }, { output: process.stderr });
    if (!wanted) terminal.err('Nothing was taken back.\n');
    return wanted;
  } catch (cause) {
    throw new Interrupted('interrupted', 'stopped by you; nothing was taken back', { cause });
  }
}

export async function cancel(
  context: CommandContext,
  id: string,
  options: { readonly reason?: string },
): Promise<number> {
  const { services, terminal, suggestions } = context;
  const agent = await services.agent();
  const run_id = (await agent.run(id)).run_id;
  const run = await agent.cancel({ run_id, by: await services.person(), reason: options.reason ?? null });
  if (context.json) writeJson(terminal, runJson(run));
  else terminal.out(runView(run, terminal, suggestions));
  return exitCodes.done;
}

export interface RecoverOptions {
  readonly acceptLoss?: boolean;
  readonly reason?: string;
}

/** Shows what a record lost; with `--accept-loss`, lets its run go on. */
export async function recover(context: CommandContext, id: string, options: RecoverOptions): Promise<number> {
  const { services, terminal, suggestions } = context;
  const agent = await services.agent();
  const record = await agent.record(id);
  if (options.acceptLoss !== true) {
    if (context.json) writeJson(terminal, record);
    else terminal.out(recordView(record, terminal, suggestions));
    return record.problem === null ? exitCodes.done : exitCodes.failed;
  }
  const { run_id } = record;
  const run = await agent.recoverRecord({
    run_id,
    reason: options.reason ?? '',
    by: await services.person(),
  });
  if (context.json) writeJson(terminal, runJson(run));
  else terminal.out(runView(run, terminal, suggestions));
  return exitCodes.done;
}

export async function prune(
  context: CommandContext,
  options: { readonly olderThan: number; readonly runs?: boolean; readonly dryRun?: boolean },
): Promise<number> {
  const { terminal } = context;
  const agent = await context.services.agent();
  const dry_run = options.dryRun === true;
  const result = await agent.prune({
    before: new Date(terminal.now().getTime() - options.olderThan).toISOString(),
    what: options.runs === true ? 'runs' : 'clones',
    dry_run,
  });
  if (context.json) writeJson(terminal, result);
  else terminal.out(pruneView(result, dry_run, terminal));
  return exitCodes.done;
}
