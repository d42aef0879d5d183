import { exitCodes } from '#kit/errors.ts';
import type { SyncReport } from '../../agent.ts';
import { type CommandContext, watched } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import { syncView } from '../views/sync-view.ts';

export interface SyncOptions {
  readonly repository?: { readonly owner: string; readonly repo: string };
  readonly full?: boolean;
}

export async function sync(context: CommandContext, options: SyncOptions): Promise<number> {
  const { services, terminal, suggestions } = context;
  const agent = await services.agent();
  const by = await services.person();
  const { repository = null, full = false } = options;
  const report = await watched(context, (watch) => agent.sync({ repository, full, by }, watch), false);
  if (context.json) writeJson(terminal, report);
  else terminal.out(syncView(report, terminal, suggestions));
  return exitCodeOf(report);
}

/** Something behind it that did not answer weighs more than what it would not take. */
function exitCodeOf({ pull_requests, context }: SyncReport): number {
  const silent = pull_requests.some(({ problem }) => problem !== null && !problem.gone);
  if (silent || (context?.waiting.length ?? 0) > 0) return exitCodes.unavailable;
  const gone = pull_requests.some(({ problem }) => problem !== null);
  const refused = context !== null && (context.refused.length > 0 || context.reason !== null);
  return gone || refused ? exitCodes.failed : exitCodes.done;
}
