import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Readable, Transform } from 'node:stream';
import { guarded } from '#kit/callbacks.ts';
import type { SandboxStreams } from '../ports/sandbox.ts';

/** What an interactive command may write to its standard output where its limits do not say. */
export const defaultStreamBytes = 256 * 1024 * 1024;
/** How long the last output of a command that has ended waits to be read. */
const readMs = 2_000;

/**
 * The streams of an interactive command: nothing is kept but what is on its way.
 * @param onFlood called once when it wrote more than `limit` bytes to its standard output
 * @returns with them what closes them, after the command has ended
 */
export function interactiveStreams(
  child: ChildProcess,
  limit: number,
  onFlood: () => void,
): { readonly streams: SandboxStreams; close(): Promise<void> } {
  let written = 0;
  const stdout = new Transform({
    transform(chunk: Buffer, _, done) {
      written += chunk.length;
      if (written <= limit) return done(null, chunk);
      if (written - chunk.length <= limit) onFlood();
      done();
    },
  });
  const stdin = child.stdin!;
  // Whoever writes to a command that has ended finds out by its end.
  stdin.on('error', () => {});
  stdout.on('error', () => {});
  const source: Readable = child.stdout!;
  source.on(
    'error',
    guarded('a sandbox', () => stdout.end()),
  );
  source.pipe(stdout);
  return {
    streams: { stdin, stdout },
    async close() {
      if (!stdout.closed) {
        await once(stdout, 'close', { signal: AbortSignal.timeout(readMs) }).catch(() => {});
      }
      for (const stream of [stdin, source, stdout]) stream.destroy();
    },
  };
}
