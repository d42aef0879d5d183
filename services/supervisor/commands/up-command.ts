import type { Command } from 'commander';
import type { RunOwn } from '../own-command.ts';

interface Options {
  readonly host?: string;
  readonly port?: string;
  readonly contextPort?: string;
  readonly modelsPort?: string;
  readonly bridgePort?: string;
  readonly busPort?: string;
  readonly busHttpPort?: string;
  readonly only?: string;
  readonly without?: string;
}

export function define(program: Command, run: RunOwn): void {
  program
    .command('up')
    .description('start the services of this machine; Ctrl-C ends them. Port 0 takes any that is free')
    .option('--host <address>', 'where core-agentd listens')
    .option('--port <n>', 'on which port')
    .option('--context-port <n>', 'port of core-context')
    .option('--models-port <n>', 'port of core-model-gateway')
    .option('--bridge-port <n>', 'port of core-bridge')
    .option('--bus-port <n>', 'port of the websocket of core-bus-engine')
    .option('--bus-http-port <n>', 'port of its HTTP interface')
    .option('--only <names>', 'only these services, separated by commas')
    .option('--without <names>', 'all but these services, separated by commas')
    .action((options: Options) =>
      run(async ({ home, program: name }) => {
        const { up } = await import('../up.ts');
        return up({ ...options, home, program: name });
      }),
    );
}
