import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';
import { withCheck } from '#kit/cli/serve-command.ts';

export function define(program: Command, run: RunCommand): void {
  const serve = program
    .command('serve')
    .description('run the engine here, until a signal comes')
    .option('--host <address>', 'where to listen')
    .option('--port <n>', 'on which port workers connect')
    .option('--http-port <n>', 'on which port HTTP triggers answer');
  withCheck(serve, run, () => import('../serve.ts'));
}
