import type { ProgramStart } from '#kit/cli/program.ts';
import { startService } from '#kit/cli/start-service.ts';
import { ownVersion } from '#kit/own-version.ts';
import { surviveLostOutput } from '#kit/standard-output.ts';
import { keepFilesPrivate } from '#kit/umask.ts';

/** Runs one command line; `./core bridge` and `core-bridge` are two names for it. */
export function main(start: ProgramStart): Promise<number> {
  return startService(start, {
    serve: () => import('./http/serve.ts'),
    program: async (all) => (await import('./cli/program.ts')).runBridgeProgram(all),
  });
}

if (import.meta.main) {
  keepFilesPrivate();
  surviveLostOutput();
  process.exitCode = await main({
    args: process.argv.slice(2),
    program: 'core-bridge',
    version: ownVersion(),
  });
  process.exit();
}
