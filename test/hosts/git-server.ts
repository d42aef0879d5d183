import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { environment } from '#kit/environment.ts';

/** Repositories of a folder over HTTP, by git's own CGI program; whoever shows a token may push. */
export async function startGitServer(root: string, host: string) {
  const server = createServer((request, response) => {
    serve(root, request, response).catch(() => response.destroy());
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function serve(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url!, 'http://git');
  if (request.url!.includes('git-receive-pack') && request.headers.authorization === undefined) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    return;
  }
  const cgi = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: environment.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: request.headers['content-length'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      REMOTE_ADDR: '127.0.0.1',
      ...(request.headers.authorization === undefined ? {} : { REMOTE_USER: 'core-bot' }),
    },
  });
  cgi.stdin.on('error', () => {});
  request.pipe(cgi.stdin);
  const chunks: Buffer[] = [];
  for await (const chunk of cgi.stdout) chunks.push(chunk);
  const reply = Buffer.concat(chunks);
  const end = reply.indexOf('\r\n\r\n');
  const lines = reply.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  response.writeHead(Number.parseInt(headers.Status ?? '200', 10), headers).end(reply.subarray(end + 4));
}
