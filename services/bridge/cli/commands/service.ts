import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';

export function define(program: Command, run: RunCommand): void {
  program
    .command('serve')
    .description('run the service here, until a signal comes')
    .option('--host <address>', 'where to listen')
    .option('--port <n>', 'on which port')
    .action((options: { host?: string; port?: string }) =>
      run(async ({ home }) => {
        const { serve } = await import('../../http/serve.ts');
        return serve({ ...options, home });
      }),
    );
}
