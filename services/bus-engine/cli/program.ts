import { type ProgramStart, runServiceProgram } from '#kit/cli/program.ts';
import * as lists from './lists.ts';
import * as serve from './serve-command.ts';

const description = `The capability bus: functions by name, whoever provides them.
Every command but serve asks the running bus; ./core up starts it.`;

/** Runs one command line of core-bus-engine to its end and gives its exit code. */
export function runBusProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [serve, lists] });
}
