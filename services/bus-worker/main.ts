import type { ProgramStart } from '#kit/cli/program.ts';
import { startService } from '#kit/cli/start-service.ts';
import { ownVersion } from '#kit/own-version.ts';
import { surviveLostOutput } from '#kit/standard-output.ts';
import { keepFilesPrivate } from '#kit/umask.ts';

/** Runs one command line; `./core worker` and `core-bus-worker` are two names for it. */
export function main(start: ProgramStart): Promise<number> {
  return startService(start, {
    serve: () => import('./serve.ts'),
    program: async (all) => (await import('./cli/program.ts')).runWorkerProgram(all),
  });
}

if (import.meta.main) {
  keepFilesPrivate();
  surviveLostOutput();
  process.exitCode = await main({
    args: process.argv.slice(2),
    program: 'core-bus-worker',
    version: ownVersion(),
  });
  process.exit();
}
