import { codeOf, messageOf } from './errors.ts';

/**
 * What this process does when nobody takes its output: a broken pipe (`core runs | head -1`) ends writing quietly, anything
 * else (a full disk) is one line on standard error and exit code 1. For the start of a program, once.
 */
export function surviveLostOutput(): void {
  let told = false;
  process.stdout.on('error', (error) => {
    if (told || ['EPIPE', 'ERR_STREAM_DESTROYED'].includes(codeOf(error))) return;
    told = true;
    process.once('exit', () => {
      process.exitCode = 1;
    });
    process.stderr.write(`error  standard output cannot be written: ${messageOf(error)}\n`);
  });
  process.stderr.on('error', () => {});
}

/** Resolves when all that was written is with whoever reads it, so that the process can be ended. */
export async function flushOutput(): Promise<void> {
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}
