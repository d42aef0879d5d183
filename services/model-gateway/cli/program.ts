import { type ProgramOptions, runProgram } from '#kit/cli/program.ts';
import * as check from './commands/check.ts';
import * as models from './commands/models.ts';
import * as serve from './commands/serve.ts';
import * as usage from './commands/usage.ts';

const description = `Models behind one OpenAI-compatible interface, each credential in this one process, with budgets that bind.
usage asks the running service, ./core up starts it; the others need none.`;

/** Every command of core-model-gateway with its options. */
export function gatewayProgram(version: string): Pick<ProgramOptions, 'description' | 'define'> {
  return {
    description,
    define(program, run) {
      program.version(version, '--version');
      for (const group of [serve, models, check, usage]) group.define(program, run);
    },
  };
}

/** Runs one command line of core-model-gateway to its end and gives its exit code. */
export function runGatewayProgram(start: {
  readonly args: readonly string[];
  readonly program: string;
  readonly version: string;
}): Promise<number> {
  return runProgram({ args: start.args, name: start.program, ...gatewayProgram(start.version) });
}
