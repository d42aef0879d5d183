import { exitCodes } from '#kit/errors.ts';
import { type CommandContext, watched } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import { syncFailures, syncView, syncWarnings } from '../views/sync-view.ts';

export interface SyncOptions {
  readonly repository?: { readonly owner: string; readonly repo: string };
  readonly full?: boolean;
}

/** What core-context does not take now is no failure: it waits in the outbox, and timers run this. */
export async function sync(context: CommandContext, options: SyncOptions): Promise<number> {
  const { services, terminal, suggestions } = context;
  const agent = await services.agent();
  const by = await services.person();
  const { repository = null, full = false } = options;
  const report = await watched(context, (watch) => agent.sync({ repository, full, by }, watch), false);
  const warnings = syncWarnings(report);
  if (context.json) writeJson(terminal, { ...report, warnings });
  else terminal.out(syncView(report, terminal, suggestions));
  const { paintErr } = terminal;
  const failures = syncFailures(report);
  for (const failure of failures) terminal.err(`${paintErr.red('error')}    ${failure}\n`);
  for (const warning of warnings) terminal.err(`${paintErr.yellow('warning')}  ${warning}\n`);
  return failures.length > 0 ? exitCodes.unavailable : exitCodes.done;
}
