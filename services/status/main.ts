import type { ProgramStart } from '#kit/cli/program.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core status` and `core-status` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runStatusProgram } = await import('./cli/program.ts');
  return runStatusProgram(start);
}

if (import.meta.main) await runProgramFile('core-status', main);
