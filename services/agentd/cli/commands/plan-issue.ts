import type { plannerKinds } from '#kit/contracts/vocabulary.ts';
import { exitCodes } from '#kit/errors.ts';
import { runView as runJson } from '../../http/run-view.ts';
import { type CommandContext, watched } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import { planView } from '../views/plan-view.ts';
import { runView } from '../views/run-view.ts';

export interface PlanIssueOptions {
  readonly owner: string;
  readonly repo: string;
  readonly number: number;
  readonly role?: string;
  readonly forge?: string;
  readonly planner?: (typeof plannerKinds)[number];
  readonly dryRun?: boolean;
  readonly keep?: boolean;
  readonly anyway?: boolean;
}

export async function planIssue(context: CommandContext, options: PlanIssueOptions): Promise<number> {
  const { services, terminal, suggestions, verbose } = context;
  const agent = await services.agent();
  const by = await services.person();
  const { dryRun = false, ...request } = options;
  const run = await watched(context, (watch) => agent.planIssue({ ...request, dry_run: dryRun, by }, watch));
  if (context.json) writeJson(terminal, runJson(run));
  else if (run.plan === null) terminal.out(runView(run, terminal, suggestions, { verbose }));
  else terminal.out(planView(run, terminal, suggestions, await services.approvalDays()));
  return run.plan === null ? exitCodes.failed : exitCodes.done;
}
