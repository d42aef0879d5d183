import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';

export function define(program: Command, run: RunCommand): void {
  program
    .command('serve')
    .description('run the engine here, until a signal comes')
    .option('--host <address>', 'where to listen')
    .option('--port <n>', 'on which port workers connect')
    .option('--http-port <n>', 'on which port HTTP triggers answer')
    .action((options: { host?: string; port?: string; httpPort?: string }) =>
      run(async ({ home }) => {
        const { serve } = await import('../serve.ts');
        return serve({ ...options, home });
      }),
    );
}
