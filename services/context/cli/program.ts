import { type ProgramOptions, runProgram } from '#kit/cli/program.ts';
import * as graph from './commands/graph.ts';
import * as memory from './commands/memory.ts';
import * as refresh from './commands/refresh.ts';
import * as service from './commands/service.ts';

const description = `Graph and memory: what is known of repositories, issues and runs, and what was remembered.
Every command but serve asks the running service; ./core up starts it.`;

/** Every command of core-context with its options. */
export function contextProgram(version: string): Pick<ProgramOptions, 'description' | 'define'> {
  return {
    description,
    define(program, run) {
      program.version(version, '--version');
      for (const group of [service, refresh, graph, memory]) group.define(program, run);
    },
  };
}

/** Runs one command line of core-context to its end and gives its exit code. */
export function runContextProgram(start: {
  readonly args: readonly string[];
  readonly program: string;
  readonly version: string;
}): Promise<number> {
  return runProgram({ args: start.args, name: start.program, ...contextProgram(start.version) });
}
