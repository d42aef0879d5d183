import { readFileSync } from 'node:fs';
import type { RequestListener, Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { type CoreError, codeOf, Failed, InvalidInput, messageOf } from '../errors.ts';
import type { Binding } from './access.ts';
import { createServer } from './node-http.ts';
import { problemType } from './problem.ts';

/** Node's server with limits on how long a request may take to arrive, over TLS where that is configured. */
export function listener(binding: Binding, handle: RequestListener, settings: string): Server {
  const limits = {
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 5_000,
    maxHeaderSize: 16_384,
  };
  const server =
    binding.tls === null ? createServer(limits, handle) : tlsServer(binding.tls, limits, handle, settings);
  server.on('clientError', (error, socket) => refuseMalformed(error, socket as Socket));
  return server;
}

function tlsServer(
  tls: NonNullable<Binding['tls']>,
  limits: ServerOptions,
  handle: RequestListener,
  settings: string,
): Server {
  const { certificate_file, key_file } = tls;
  const pem = { cert: readTlsFile(certificate_file, settings), key: readTlsFile(key_file, settings) };
  // Loaded where somebody wants TLS.
  const { createServer: createTlsServer } = process.getBuiltinModule('node:https');
  return createTlsServer({ ...limits, ...pem, minVersion: 'TLSv1.2' }, handle);
}

function readTlsFile(path: string, settings: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new InvalidInput(
      'tls_file_unreadable',
      `${settings}.tls: ${path} cannot be read: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}

/** What to say when the address cannot be used. */
export function cannotListen(cause: Error, { host, port }: Binding, settings: string): CoreError {
  const facts = { host, port, code: codeOf(cause) };
  if (facts.code === 'EADDRINUSE') {
    const hint = `./core doctor says who answers there; another port: --port or CORE_${settings.toUpperCase()}_PORT.`;
    return new Failed('port_in_use', `port ${port} on ${host} is used already`, { cause, facts, hint });
  }
  return new Failed('cannot_listen', `cannot listen on ${host}:${port}: ${cause.message}`, { cause, facts });
}

/** Requests that are no HTTP never reach a route; they get the same kind of answer all the same. */
function refuseMalformed(error: Error, socket: Socket): void {
  if (codeOf(error) === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, title, code] =
    codeOf(error) === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large', 'headers_too_large']
      : codeOf(error) === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout', 'request_timeout']
        : [400, 'Bad Request', 'malformed_request'];
  const body = JSON.stringify({ type: 'about:blank', title, status, code });
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nConnection: close\r\nContent-Type: ${problemType}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}
