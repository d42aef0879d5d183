import type { Command } from 'commander';
import { type ProgramStart, type RunCommand, runServiceProgram } from '#kit/cli/program.ts';
import { withCheck } from '#kit/cli/serve-command.ts';

const description = `The platform's functions on the capability bus.
functions and call ask the running bus; ./core up starts it.`;

/** Runs one command line of core-bus-worker to its end and gives its exit code. */
export function runWorkerProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [{ define }] });
}

function define(program: Command, run: RunCommand): void {
  const serve = program
    .command('serve')
    .description('register the functions and answer calls, until a signal comes');
  withCheck(serve, run, () => import('../serve.ts'));
  program
    .command('functions')
    .description('what the platform offers on the bus, and whether it is there now; --json has the schemas')
    .action(() =>
      run(async (context) => {
        const { listFunctions } = await import('./functions.ts');
        return listFunctions(context);
      }),
    );
  program
    .command('call <function> [request]')
    .description('call a function with a request in JSON, and print its result')
    .option('--timeout <seconds>', 'how long to wait', '30')
    .action((id: string, request: string | undefined, options: { timeout: string }) =>
      run(async (context) => {
        const { callFunction } = await import('./call.ts');
        return callFunction(context, { id, request: request ?? '{}', ...options });
      }),
    );
}
