import type { ProgramStart } from '#kit/cli/program.ts';
import { startService } from '#kit/cli/start-service.ts';
import { runProgramFile } from '#kit/program.ts';

/** Runs one command line; `./core model-gateway` and `core-model-gateway` are two names for it. */
export function main(start: ProgramStart): Promise<number> {
  return startService(start, {
    serve: () => import('./http/serve.ts'),
    program: async (all) => (await import('./cli/program.ts')).runGatewayProgram(all),
  });
}

if (import.meta.main) await runProgramFile('core-model-gateway', main);
