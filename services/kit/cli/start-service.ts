import type { ProgramStart } from './program.ts';
import type { ServeModule, ServeOptions } from './serve-command.ts';

/** What the command line of a service is made of; each part is loaded when it is needed. */
export interface ServiceParts {
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
    const { tellError } = await import('./tell-error.ts');
    return tellError(error, start.args);
  }
}
