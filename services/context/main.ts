import type { ProgramStart } from '#kit/cli/program.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core context` and `core-context` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runContextProgram } = await import('./cli/program.ts');
  return runContextProgram(start);
}

if (import.meta.main) await runProgramFile('core-context', main);
