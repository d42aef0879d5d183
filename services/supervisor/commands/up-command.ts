import type { Command } from 'commander';
import type { RunOwn } from '../own-command.ts';

export function define(program: Command, run: RunOwn): void {
  program
    .command('up')
    .description('start the services of this machine; Ctrl-C ends them')
    .option('--host <address>', 'where core-agentd listens')
    .option('--port <n>', 'on which port')
    .option('--context-port <n>', 'port of core-context')
    .option('--models-port <n>', 'port of core-model-gateway')
    .action((options: { host?: string; port?: string; contextPort?: string; modelsPort?: string }) =>
      run(async ({ home, program: name }) => {
        const { up } = await import('../up.ts');
        return up({ ...options, home, program: name });
      }),
    );
}
