import { type ProgramStart, runServiceProgram } from '#kit/cli/program.ts';
import * as events from './commands/events.ts';
import * as others from './commands/others.ts';
import * as service from './commands/service.ts';
import * as sync from './commands/sync.ts';

const description = `Dashboards and schedules: takes events about issues, has them planned, and tells what runs came to.
Every command but serve asks the running service; ./core up starts it.`;

/** Runs one command line of core-bridge to its end and gives its exit code. */
export function runBridgeProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [service, events, sync, others] });
}
