import type { Watch } from '../agent.ts';
import type { Services } from './services.ts';
import type { Suggestions } from './suggestion.ts';
import type { Terminal } from './terminal.ts';

/** What every command is given. A command returns its exit code, or throws. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly services: Services;
  readonly suggestions: Suggestions;
  readonly json: boolean;
  readonly verbose: boolean;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Runs a long use case with its progress on standard error. */
export async function watched<T>(
  context: CommandContext,
  work: (watch: Watch) => Promise<T>,
  lasting = true,
): Promise<T> {
  const { createProgress } = await import('./progress.ts');
  const progress = createProgress(context.terminal, { verbose: context.verbose, lasting });
  try {
    return await work({ progress: progress.update, signal: context.signal });
  } finally {
    progress.end();
  }
}
