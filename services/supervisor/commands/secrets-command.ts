import type { Command } from 'commander';
import type { RunOwn } from '../own-command.ts';

export function define(program: Command, run: RunOwn): void {
  const secrets = program.command('secrets').description('secret files of the compose stack');
  secrets
    .command('init')
    .description('make the secrets folder of compose.yaml; what is there already stays as it is')
    .option('--dir <dir>', 'folder with compose.yaml; without it, that of this installation')
    .option('--owner <uid:gid>', 'who the files belong to and the containers run as')
    .option('--person <name>', 'name of the token that approvals in the containers are signed with')
    .action((options: { dir?: string; owner?: string; person?: string }) =>
      run(async ({ json }) => {
        const { secretsInit } = await import('../secrets/secrets-init.ts');
        return secretsInit({ ...options, json });
      }),
    );
}
