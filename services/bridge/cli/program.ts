import { type ProgramOptions, runProgram } from '#kit/cli/program.ts';
import * as events from './commands/events.ts';
import * as others from './commands/others.ts';
import * as service from './commands/service.ts';

const description = `Dashboards and schedules: takes events about issues, has them planned, and tells what runs came to.
Every command but serve asks the running service; ./core up starts it.`;

/** Every command of core-bridge with its options. */
export function bridgeProgram(version: string): Pick<ProgramOptions, 'description' | 'define'> {
  return {
    description,
    define(program, run) {
      program.version(version, '--version');
      for (const group of [service, events, others]) group.define(program, run);
    },
  };
}

/** Runs one command line of core-bridge to its end and gives its exit code. */
export function runBridgeProgram(start: {
  readonly args: readonly string[];
  readonly program: string;
  readonly version: string;
}): Promise<number> {
  return runProgram({ args: start.args, name: start.program, ...bridgeProgram(start.version) });
}
