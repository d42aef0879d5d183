import { type ProgramStart, runServiceProgram, type ServiceProgram } from '#kit/cli/program.ts';
import * as events from './commands/events.ts';
import * as others from './commands/others.ts';
import * as service from './commands/service.ts';

export const bridgeProgram: ServiceProgram = {
  description: `Dashboards and schedules: takes events about issues, has them planned, and tells what runs came to.
Every command but serve asks the running service; ./core up starts it.`,
  groups: [service, events, others],
};

/** Runs one command line of core-bridge to its end and gives its exit code. */
export function runBridgeProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, bridgeProgram);
}
