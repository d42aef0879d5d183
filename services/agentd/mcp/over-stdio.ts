import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

/** Serves the client at the other end of standard input and output until it closes them, or the signal comes. */
export async function serveOverStdio(server: Server, signal: AbortSignal): Promise<void> {
  const ended = Promise.withResolvers<void>();
  server.onclose = () => ended.resolve();
  process.stdin.once('end', () => ended.resolve());
  process.stdin.once('close', () => ended.resolve());
  signal.addEventListener('abort', () => ended.resolve());
  await server.connect(new StdioServerTransport());
  await ended.promise;
  await server.close();
}
