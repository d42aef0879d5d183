import { type ProgramStart, runServiceProgram } from '#kit/cli/program.ts';
import * as graph from './commands/graph.ts';
import * as memory from './commands/memory.ts';
import * as refresh from './commands/refresh.ts';
import * as service from './commands/service.ts';

const description = `Graph and memory: what is known of repositories, issues and runs, and what was remembered.
Every command but serve asks the running service; ./core up starts it.`;

/** Runs one command line of core-context to its end and gives its exit code. */
export function runContextProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [service, refresh, graph, memory] });
}
