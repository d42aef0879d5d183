import type { ProgramStart } from '#kit/cli/program.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core tui` and `core-terminal` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runTerminalProgram } = await import('./cli/program.ts');
  return runTerminalProgram(start);
}

if (import.meta.main) await runProgramFile('core-terminal', main);
