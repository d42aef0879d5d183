import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, type Said } from './core-process.ts';

export const siteFolder = fileURLToPath(new URL('../../site/', import.meta.url));
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

let built: Promise<Said> | undefined;

/** Builds the site as people do, once for all tests of the process. */
export function builtSite(): Promise<Said> {
  built ??= run(process.execPath, [join(siteFolder, 'run.ts'), 'build'], siteFolder);
  return built;
}

/** The built site, served as any server of files would. */
export async function serveSite(): Promise<{ readonly url: string; close(): void }> {
  const dist = join(siteFolder, '.vitepress/dist');
  const server = createServer(({ url = '/' }, response) => {
    const path = normalize(decodeURIComponent(new URL(url, 'http://site').pathname));
    const file = join(dist, path.endsWith('/') ? `${path}index.html` : path);
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' });
    response.end(readFileSync(file));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
