import type { Command } from 'commander';
import { type ProgramStart, type RunCommand, runServiceProgram } from '#kit/cli/program.ts';
import { defineServe } from '#kit/cli/serve-command.ts';
import * as events from './commands/events.ts';
import * as others from './commands/others.ts';
import * as sync from './commands/sync.ts';

const description = `Dashboards and schedules: takes events about issues, has them planned, and reports how runs ended.
Every command but serve asks the running service; ./core up starts it.`;

const service = {
  define(program: Command, run: RunCommand): void {
    defineServe(program, run, () => import('../http/serve.ts'));
  },
};

/** Runs one command line of core-bridge to its end and gives its exit code. */
export function runBridgeProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [service, events, sync, others] });
}
