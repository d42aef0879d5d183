import type { ProgramStart } from '#kit/cli/program.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core worker` and `core-bus-worker` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runWorkerProgram } = await import('./cli/program.ts');
  return runWorkerProgram(start);
}

if (import.meta.main) await runProgramFile('core-bus-worker', main);
