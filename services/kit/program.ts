import { readFileSync } from 'node:fs';
import { guarded } from './callbacks.ts';
import { codeOf, messageOf } from './errors.ts';
import { keepFilesPrivate } from './umask.ts';

/**
 * Handles output that cannot be written: a broken pipe (`core runs | head -1`) ends writing quietly, anything
 * else (a full disk) is one line on standard error and exit code 1. Call once, as the program starts.
 */
export function surviveLostOutput(): void {
  let reported = false;
  process.stdout.on(
    'error',
    guarded('the standard output', (error) => {
      if (reported || ['EPIPE', 'ERR_STREAM_DESTROYED'].includes(codeOf(error))) return;
      reported = true;
      process.once(
        'exit',
        guarded('the standard output', () => {
          process.exitCode = 1;
        }),
      );
      process.stderr.write(`error  standard output cannot be written: ${messageOf(error)}\n`);
    }),
  );
  process.stderr.on('error', () => {});
}

/** Resolves when all output was handed over, so that the process can end. */
export async function flushOutput(): Promise<void> {
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}

/** The version of this installation of Core. */
export function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

/** Runs the program of this process and ends with its exit code. */
export async function runProgramFile(
  program: string,
  main: (start: { args: readonly string[]; program: string; version: string }) => Promise<number>,
): Promise<never> {
  keepFilesPrivate();
  surviveLostOutput();
  process.exitCode = await main({ args: process.argv.slice(2), program, version: ownVersion() });
  await flushOutput();
  process.exit();
}
