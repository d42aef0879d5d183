import type { Command } from 'commander';
import { jsonText } from '#kit/cli/output.ts';
import { childEnvironment, environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import type { CommandContext } from './command.ts';
import type { Terminal } from './terminal.ts';

export function withPager(command: Command): Command {
  return command.option('--no-pager', 'print it, in place of $PAGER or less');
}

/** Writes a result: as JSON where that was asked for, else as this text, in the person's pager where that was not declined. */
export async function page(
  { terminal, json }: CommandContext,
  result: unknown,
  wanted: boolean,
  text: () => string | Uint8Array,
): Promise<number> {
  const shown = json ? `${jsonText(result)}\n` : text();
  if (json || !wanted || typeof shown !== 'string') terminal.out(shown);
  else await showPaged(terminal, shown);
  return exitCodes.done;
}

/** Shows a text in `$PAGER`, else less where it is installed; prints it where standard output is no terminal, or no pager starts. */
export async function showPaged(terminal: Terminal, text: string): Promise<void> {
  const pager = (environment.PAGER ?? 'less').trim();
  if (!terminal.outIsTerminal || ['', 'cat'].includes(pager) || !(await startPager(pager, text)))
    terminal.out(text);
}

/** What a shell says of a command that it does not find. */
const notFound = 127;

/** @returns false where the pager is not there */
async function startPager(pager: string, text: string): Promise<boolean> {
  // As git does: what fits on one screen is just printed, and stays on it.
  const env = childEnvironment({ LESS: environment.LESS ?? 'FRX' });
  const { execa } = await import('execa');
  // Ctrl-C is a key of the pager while it runs.
  const listeners = process.listeners('SIGINT');
  process.removeAllListeners('SIGINT');
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    const { exitCode, signal } = await execa(pager, {
      shell: true,
      input: text,
      stdout: 'inherit',
      stderr: 'ignore',
      extendEnv: false,
      env,
      reject: false,
    });
    const started = exitCode !== undefined || signal !== undefined;
    return started && exitCode !== notFound;
  } finally {
    process.off('SIGINT', ignore);
    for (const listener of listeners) process.on('SIGINT', listener);
  }
}
