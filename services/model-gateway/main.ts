import type { ProgramStart } from '#kit/cli/program.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core model-gateway` and `core-model-gateway` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runGatewayProgram } = await import('./cli/program.ts');
  return runGatewayProgram(start);
}

if (import.meta.main) await runProgramFile('core-model-gateway', main);
