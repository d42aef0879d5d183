import type { ProgramStart } from '#kit/cli/program.ts';
import { startService } from '#kit/cli/start-service.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core bridge` and `core-bridge` are two names for it. */
export function main(start: ProgramStart): Promise<number> {
  return startService(start, {
    serve: () => import('./http/serve.ts'),
    program: async (all) => (await import('./cli/program.ts')).runBridgeProgram(all),
  });
}

if (import.meta.main) await runProgramFile('core-bridge', main);
