import type { ProgramStart } from '#kit/cli/program.ts';
import { ownVersion } from '#kit/own-version.ts';
import { surviveLostOutput } from '#kit/standard-output.ts';
import { keepFilesPrivate } from '#kit/umask.ts';

/** Runs one command line; `./core tui` and `core-terminal` are two names for it. */
export async function main(start: ProgramStart): Promise<number> {
  const { runTerminalProgram } = await import('./cli/program.ts');
  return runTerminalProgram(start);
}

if (import.meta.main) {
  keepFilesPrivate();
  surviveLostOutput();
  process.exitCode = await main({
    args: process.argv.slice(2),
    program: 'core-terminal',
    version: ownVersion(),
  });
  process.exit();
}
