import { runProgram } from '#kit/cli/program.ts';
import type { OwnCommand } from './own-command.ts';

/** Parses and runs one command of the supervisor, whose code is loaded now. */
export async function runOwnCommand(
  load: () => Promise<OwnCommand>,
  args: readonly string[],
  name: string,
): Promise<number> {
  const { define } = await load();
  return runProgram({ args, name, define });
}
