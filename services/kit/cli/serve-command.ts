import type { Command } from 'commander';
import type { RunCommand } from './program.ts';

export interface ServeOptions {
  readonly home: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}

/** The command that runs a service. @param serve resolves with the exit code */
export function defineServe(
  program: Command,
  run: RunCommand,
  serve: (options: ServeOptions) => Promise<number>,
  { isDefault = false }: { readonly isDefault?: boolean } = {},
): void {
  program
    .command('serve', { isDefault })
    .description('run the service here, until a signal comes')
    .option('--host <address>', 'where to listen')
    .option('--port <n>', 'on which port')
    .action((options: Omit<ServeOptions, 'home'>) => run(({ home }) => serve({ ...options, home })));
}
