import type { ProgramStart } from '#kit/cli/program.ts';
import { ownVersion } from '#kit/own-version.ts';
import { surviveLostOutput } from '#kit/standard-output.ts';

/** Runs one command line; `./core model-gateway` and `core-model-gateway` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runGatewayProgram } = await import('./cli/program.ts');
  return runGatewayProgram(start);
}

if (import.meta.main) {
  surviveLostOutput();
  process.exitCode = await main({
    args: process.argv.slice(2),
    program: 'core-model-gateway',
    version: ownVersion(),
  });
  process.exit();
}
