import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { readMessage } from './message.ts';

/** Serves the client at the other end of standard input and output until it closes them, or the signal comes. */
export async function serveOverStdio(server: Server, signal: AbortSignal): Promise<void> {
  const ended = Promise.withResolvers<void>();
  server.onclose = () => ended.resolve();
  signal.addEventListener('abort', () => ended.resolve());
  const lines = createInterface({ input: process.stdin });
  const incoming = Readable.from(messages(lines)).once('close', () => ended.resolve());
  await server.connect(new StdioServerTransport(incoming, process.stdout));
  await ended.promise;
  await server.close();
  lines.close();
}

/** Lines of standard input that are messages; the others are answered here. */
async function* messages(lines: AsyncIterable<string>): AsyncIterable<Buffer> {
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const read = readMessage(line);
    if ('message' in read) yield Buffer.from(`${JSON.stringify(read.message)}\n`);
    else process.stdout.write(`${JSON.stringify(read.refusal)}\n`);
  }
}
