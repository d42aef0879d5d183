import type { ProgramStart } from '#kit/cli/program.ts';
import { startService } from '#kit/cli/start-service.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core worker` and `core-bus-worker` are two names for it. */
export function main(start: ProgramStart): Promise<number> {
  return startService(start, {
    serve: () => import('./serve.ts'),
    program: async (all) => (await import('./cli/program.ts')).runWorkerProgram(all),
  });
}

if (import.meta.main) await runProgramFile('core-bus-worker', main);
