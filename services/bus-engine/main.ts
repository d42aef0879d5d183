import type { ProgramStart } from '#kit/cli/program.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core bus` and `core-bus-engine` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runBusProgram } = await import('./cli/program.ts');
  return runBusProgram(start);
}

if (import.meta.main) await runProgramFile('core-bus-engine', main);
