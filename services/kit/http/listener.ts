import type { RequestListener, Server, ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { guarded } from '../callbacks.ts';
import { type CoreError, codeOf, Failed, InvalidInput, messageOf } from '../errors.ts';
import { readSmallFile } from '../small-file.ts';
import type { Binding } from './authentication.ts';
import { createServer } from './node-http.ts';
import { problemType } from './problem.ts';

/** How long connections may take, in milliseconds. */
export interface ConnectionLimits {
  /** For the headers of a request, from the connection's first moment on. */
  readonly headersMs: number;
  /** For a whole request. */
  readonly requestMs: number;
  /** Until the next request. */
  readonly keepAliveMs: number;
  /** Until a client reads on from an answer that waits for it. An answer that takes its time is not cut. */
  readonly stalledMs: number;
}

const defaultLimits: ConnectionLimits = {
  headersMs: 25_000,
  requestMs: 60_000,
  keepAliveMs: 5_000,
  stalledMs: 60_000,
};

/** Node looks for late requests only so often: what is late has ended by 30 s. */
const checkIntervalMs = 5_000;

/** Node's server that waits for nobody for ever, over TLS where that is configured. */
export function listener(
  binding: Binding,
  handle: RequestListener,
  settings: string,
  limits: ConnectionLimits = defaultLimits,
): Server {
  const options = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(checkIntervalMs, limits.headersMs),
    maxHeaderSize: 16_384,
  };
  const server =
    binding.tls === null ? createServer(options, handle) : tlsServer(binding.tls, options, handle, settings);
  endIdle(server, limits.stalledMs);
  server.on(
    'clientError',
    guarded('an HTTP connection', (error, socket) => refuseMalformed(error, socket as Socket)),
  );
  return server;
}

/** Ends connections on which nothing moves, unless an answer is being worked on: nobody knows how long that takes. */
function endIdle(server: Server, stalledMs: number): void {
  const busy = new WeakSet<Socket>();
  server.on(
    'request',
    guarded('an HTTP connection', ({ socket }, response) => {
      busy.add(socket);
      response.once('close', () => busy.delete(socket));
    }),
  );
  server.setTimeout(
    stalledMs,
    guarded('an HTTP connection', (socket) => {
      if (!busy.has(socket) || socket.writableLength > 0) socket.destroy();
    }),
  );
}

function tlsServer(
  tls: NonNullable<Binding['tls']>,
  limits: ServerOptions,
  handle: RequestListener,
  settings: string,
): Server {
  const { certificate_file, key_file } = tls;
  const pem = { cert: readTlsFile(certificate_file, settings), key: readTlsFile(key_file, settings) };
  return createTlsServer({ ...limits, ...pem, minVersion: 'TLSv1.2' }, handle);
}

function readTlsFile(path: string, settings: string): string {
  try {
    return readSmallFile(path);
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
