import type { ProgramStart } from '#kit/cli/program.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core bridge` and `core-bridge` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runBridgeProgram } = await import('./cli/program.ts');
  return runBridgeProgram(start);
}

if (import.meta.main) await runProgramFile('core-bridge', main);
