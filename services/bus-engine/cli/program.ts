import type { Command } from 'commander';
import { type ProgramStart, type RunCommand, runServiceProgram } from '#kit/cli/program.ts';
import { withCheck } from '#kit/cli/serve-command.ts';
import * as lists from './lists.ts';

const description = `The capability bus: functions by name, whoever provides them.
Every command but serve asks the running bus; ./core up starts it.`;

/** Runs one command line of core-bus-engine to its end and gives its exit code. */
export function runBusProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [{ define }, lists] });
}

function define(program: Command, run: RunCommand): void {
  const serve = program
    .command('serve')
    .description('run the engine here, until a signal comes')
    .option('--host <address>', 'where to listen')
    .option('--port <n>', 'on which port workers connect')
    .option('--http-port <n>', 'on which port HTTP triggers answer');
  withCheck(serve, run, () => import('../serve.ts'));
}
