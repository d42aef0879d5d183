import type { Command } from 'commander';
import type { RunOwn } from '../own-command.ts';

export function define(program: Command, run: RunOwn): void {
  const token = program.command('token').description('tokens of the HTTP API');
  token
    .command('create')
    .description('make a token; its text goes into a file that you alone can read')
    .argument('<name>', 'who will use it')
    .requiredOption('--scopes <list>', 'comma-separated: read, plan, approve, execute, admin, model, mint')
    .option('--days <n>', 'until it expires; without it, never')
    .action((name: string, options: { scopes: string; days?: string }) =>
      run(async ({ home, json }) => {
        const { tokenCommands } = await import('../token.ts');
        return tokenCommands.create({ home, json, name, scopes: options.scopes, days: options.days });
      }),
    );
  token
    .command('list')
    .description('list tokens')
    .action(() =>
      run(async ({ home, json }) => {
        const { tokenCommands } = await import('../token.ts');
        return tokenCommands.list({ home, json });
      }),
    );
  token
    .command('revoke')
    .description('end a token; running services know at once')
    .argument('<name>', 'which one')
    .action((name: string) =>
      run(async ({ home, json }) => {
        const { tokenCommands } = await import('../token.ts');
        return tokenCommands.revoke({ home, json, name });
      }),
    );
}
