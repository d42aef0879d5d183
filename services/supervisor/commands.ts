import { homedir } from 'node:os';
import { join } from 'node:path';
import { Argument, type Command, Option } from 'commander';
import { type CommandContext, type RunCommand, runProgram } from '#kit/cli/program.ts';
import { storageKinds } from '#kit/config/storage.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import type { MigrateOptions } from './storage/commands.ts';

/** Declares the commands of the supervisor. The code of each is loaded when it is called. */
export function define(program: Command, run: RunCommand): void {
  /** The action of a command: its arguments, without commander's own, and the context. */
  const action =
    <A extends readonly unknown[]>(work: (context: CommandContext, ...given: A) => Promise<number>) =>
    (...given: unknown[]) =>
      run((context) => work(context, ...(given as unknown as A)));

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
    .action(
      action(async ({ home, program: name, display, named }, options: Readonly<Record<string, string>>) => {
        const { up } = await import('./up.ts');
        return up({ ...options, home, program: name, display, named });
      }),
    );

  program
    .command('doctor')
    .description('what works on this machine, what does not, and the fix')
    .action(
      action(async ({ home, json, paints, display, named }) => {
        const { doctor } = await import('./doctor.ts');
        return doctor({ home, json, color: paints, display, named });
      }),
    );

  const token = program.command('token').description('tokens of the HTTP API');
  token
    .command('create')
    .description('make a token; its text goes into a file that you alone can read')
    .argument('<name>', 'who will use it')
    .requiredOption('--scopes <list>', 'comma-separated: read, plan, approve, execute, admin, model, mint')
    .option('--days <n>', 'until it expires; without it, never')
    .action(
      action(async ({ home, json, display }, name: string, options: { scopes: string; days?: string }) => {
        const { tokenCommands } = await import('./token.ts');
        return tokenCommands.create({ home, json, display, name, ...options });
      }),
    );
  token
    .command('list')
    .description('list tokens')
    .action(
      action(async ({ home, json, display }) => {
        const { tokenCommands } = await import('./token.ts');
        return tokenCommands.list({ home, json, display });
      }),
    );
  token
    .command('rotate')
    .description('give a token a new text; what it approved still counts, unlike after revoke and create')
    .argument('<name>', 'which one')
    .option('--days <n>', 'until it expires; without it, when it would have')
    .action(
      action(async ({ home, json, display }, name: string, options: { days?: string }) => {
        const { tokenCommands } = await import('./token.ts');
        return tokenCommands.rotate({ home, json, display, name, ...options });
      }),
    );
  token
    .command('revoke')
    .description('end a token; running services know at once, and what it approved no longer counts')
    .argument('<name>', 'which one')
    .option('--host <name>', "whose, of a service's token on several hosts; default: this host's")
    .action(
      action(async ({ home, json, display }, name: string, options: { host?: string }) => {
        const { tokenCommands } = await import('./token.ts');
        return tokenCommands.revoke({ home, json, display, name, ...options });
      }),
    );

  program
    .command('quickstart')
    .description('see the whole loop on a small repository of its own, in .core/quickstart')
    .option('--yes', 'approve every gate without asking')
    .action(
      action(async (context, { yes = false }: { yes?: boolean }) => {
        const { quickstart } = await import('./quickstart/quickstart.ts');
        return quickstart({ ...context, yes });
      }),
    );

  const backup = program
    .command('backup')
    .description('all state of this installation in one file, also while it runs')
    .argument('<target>', 'a new file, or a folder, in which it gets a name with the time')
    .option('--with-secrets', 'also keys of forges and models, and tokens, in plain text')
    .option('--with-mirrors', 'also the copies of repositories, which are else fetched again')
    .action(
      action(async (context, target: string, options: { withSecrets?: boolean; withMirrors?: boolean }) => {
        const { backupCommand } = await import('./backup/commands.ts');
        return backupCommand(context, target, options);
      }),
    );
  backup
    .command('verify')
    .description('read a backup to its end and check every file in it')
    .argument('<file>', 'a backup')
    .action(
      action(async (context, file: string) => {
        const { verifyCommand } = await import('./backup/commands.ts');
        return verifyCommand(context, file);
      }),
    );
  program
    .command('restore')
    .description('put a backup into empty folders')
    .argument('<file>', 'a backup')
    .option('--state-only', 'leave the configuration folder alone')
    .action(
      action(async (context, file: string, { stateOnly = false }: { stateOnly?: boolean }) => {
        const { restoreCommand } = await import('./backup/commands.ts');
        return restoreCommand(context, file, stateOnly);
      }),
    );

  program
    .command('storage')
    .description('where runs, tokens, money and queues are kept')
    .command('migrate')
    .description('move all of it from files into a database, or back, compare both sides, and switch over')
    .addOption(new Option('--to <kind>', 'where to').choices(storageKinds).makeOptionMandatory())
    .option('--url <url>', 'of the database; without it, storage.url of core.json')
    .option('--password-file <file>', 'with its password; without it, storage.password_file')
    .option('--ca-file <file>', 'with the authority of its certificate; without it, storage.ca_file')
    .option('--yes', 'without asking')
    .action(
      action(async (context, options: MigrateOptions) => {
        const { migrateCommand } = await import('./storage/commands.ts');
        return migrateCommand(context, options);
      }),
    );

  program
    .command('secrets')
    .description('secret files of the compose stack')
    .command('init')
    .description('make the secrets folder of compose.yaml; what is there already stays as it is')
    .option('--dir <dir>', 'folder with compose.yaml; without it, that of this installation')
    .option('--owner <uid:gid>', 'who the files belong to and the containers run as')
    .option('--person <name>', 'name of the token that approvals in the containers are signed with')
    .action(
      action(async ({ json, display }, options: { dir?: string; owner?: string; person?: string }) => {
        const { secretsInit } = await import('./secrets/secrets-init.ts');
        return secretsInit({ ...options, json, display });
      }),
    );

  program
    .command('install')
    .description('put core and its services on your PATH, as links to this checkout')
    .option('--dir <dir>', 'folder for the links', join(environment.HOME ?? homedir(), '.local', 'bin'))
    .option('--remove', 'take the links away again')
    .action(
      action(async ({ json, display }, options: { dir: string; remove?: boolean }) => {
        const { install } = await import('./install.ts');
        return install({ ...options, json, display });
      }),
    );

  program
    .command('completion')
    .description('print the script with which a shell completes commands, options and runs')
    .addArgument(new Argument('<bash|zsh|fish>', 'which shell').choices(shells).argParser(shellNamed))
    .addHelpText(
      'after',
      `
Once in your shell's own file:
  bash  source <(${program.name()} completion bash)
  zsh   source <(${program.name()} completion zsh)
or for fish:
  ${program.name()} completion fish > ~/.config/fish/completions/core.fish`,
    )
    .action(
      action(async (_, shell: 'bash' | 'zsh' | 'fish') => {
        const { completionScript } = await import('./completion/completion.ts');
        process.stdout.write(await completionScript(shell, program));
        return exitCodes.done;
      }),
    );
}

const shells = ['bash', 'zsh', 'fish'] as const;

function shellNamed(text: string): (typeof shells)[number] {
  const found = shells.find((shell) => shell === text);
  if (found !== undefined) return found;
  throw new InvalidInput('invalid_option', `no completion for the shell '${text}'`, {
    hint: `Name one of ${shells.join(', ')}, for example:\n./core completion bash`,
  });
}

/** Runs one command line of the supervisor and gives its exit code. */
export function runSupervisorProgram(args: readonly string[], name: string): Promise<number> {
  return runProgram({ args, name, define });
}
