import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';

export function define(program: Command, run: RunCommand): void {
  // Whoever types `./core model` alone looks for what it can do.
  const isDefault = !program.name().endsWith(' model');
  program
    .command('serve', { isDefault })
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
