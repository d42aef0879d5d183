import { exitCodes } from '#kit/errors.ts';
import type { RunStatus } from '../../runs/run.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import { runsView } from '../views/runs-view.ts';

export interface RunsOptions {
  readonly limit: number;
  readonly cursor?: string;
  readonly status?: RunStatus;
  readonly owner?: string;
  readonly repo?: string;
  readonly forge?: string;
  readonly number?: number;
}

export async function runs(context: CommandContext, options: RunsOptions): Promise<number> {
  const agent = await context.services.agent();
  const page = await agent.runs(options);
  if (context.json) writeJson(context.terminal, page);
  else context.terminal.out(runsView(page, context.terminal, context.suggestions, askedWith(options)));
  return exitCodes.done;
}

function askedWith({ cursor: _, ...options }: RunsOptions): string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  );
}
