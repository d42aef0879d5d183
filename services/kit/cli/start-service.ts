import type { Command } from 'commander';
import { exitCodes } from '../errors.ts';
import type { ProgramStart, RunCommand } from './program.ts';

/** What the command line of a service is made of; each part is loaded when it is needed. */
interface ServiceParts {
  /** What `serve` runs. */
  readonly serve: () => Promise<Pick<ServeModule<ServeOptions>, 'serve'>>;
  /** All commands. */
  readonly program: (start: ProgramStart) => Promise<number>;
}

/**
 * Runs one command line of a service. `serve` and no more is how supervisors and containers start it: the parser and the other
 * commands, which take as long to load as a good part of the service, are left out then.
 * @returns the exit code
 */
export async function startService(start: ProgramStart, { serve, program }: ServiceParts): Promise<number> {
  const [command, ...rest] = start.args;
  if (command !== 'serve' || rest.length > 0 || start.declared !== undefined) return program(start);
  try {
    const service = await serve();
    return await service.serve({ home: undefined });
  } catch (error) {
    const { reportError } = await import('./report-error.ts');
    return reportError(error, start.args);
  }
}

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
