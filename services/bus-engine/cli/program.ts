import { type ProgramOptions, runProgram } from '#kit/cli/program.ts';
import * as lists from './lists.ts';
import * as serve from './serve-command.ts';

const description = `The capability bus: functions by name, whoever provides them.
Every command but serve asks the running bus; ./core up starts it.`;

/** Every command of core-bus-engine with its options. */
export function busProgram(version: string): Pick<ProgramOptions, 'description' | 'define'> {
  return {
    description,
    define(program, run) {
      program.version(version, '--version');
      for (const group of [serve, lists]) group.define(program, run);
    },
  };
}

/** Runs one command line of core-bus-engine to its end and gives its exit code. */
export function runBusProgram(start: {
  readonly args: readonly string[];
  readonly program: string;
  readonly version: string;
}): Promise<number> {
  return runProgram({ args: start.args, name: start.program, ...busProgram(start.version) });
}
