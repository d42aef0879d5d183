import type { Command } from 'commander';
import { exitCodes } from '../errors.ts';
import type { RunCommand } from './program.ts';

export interface ServeOptions {
  readonly home: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}

/** What runs a service: a module, loaded when the command is called. */
interface ServeModule<Options> {
  /** Resolves with the exit code. */
  serve(options: Options): Promise<number>;
  /** Reads all that `serve` would read before it begins. @throws InvalidInput (`config_invalid`) and its like */
  readConfiguration(options: Options): unknown;
}

/** The command that runs a service. */
export function defineServe(
  program: Command,
  run: RunCommand,
  load: () => Promise<ServeModule<ServeOptions>>,
  { isDefault = false }: { readonly isDefault?: boolean } = {},
): void {
  const command = program
    .command('serve', { isDefault })
    .description('run the service here, until a signal comes')
    .option('--host <address>', 'where to listen')
    .option('--port <n>', 'on which port');
  withCheck(command, run, load);
}

/** Gives a command that runs a service its work, and `--check`, which begins nothing. */
export function withCheck<Options extends { readonly home: string | undefined }>(
  command: Command,
  run: RunCommand,
  load: () => Promise<ServeModule<Options>>,
): void {
  command
    .option('--check', 'only read the configuration, and say what is wrong with it')
    .action(({ check = false, ...given }: Omit<Options, 'home'> & { readonly check?: boolean }) =>
      run(async ({ home }) => {
        const options = { ...given, home } as unknown as Options;
        const module = await load();
        if (!check) return module.serve(options);
        module.readConfiguration(options);
        return exitCodes.done;
      }),
    );
}
