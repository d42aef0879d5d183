import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { guarded, inBackground } from '#kit/callbacks.ts';
import { messageOf, Unavailable } from '#kit/errors.ts';
import { type Connections, openConnections } from '#kit/http/client.ts';
import { createServer } from '#kit/http/node-http.ts';
import { FairSemaphore, type Release } from '#kit/jobs/fair-semaphore.ts';
import { listenOn } from './listen-on.ts';

export interface ModelDoorOptions {
  /** Path of the Unix socket, in a folder that only this user can enter. */
  readonly socket: string;
  /** URL of core-model-gateway, for example `http://127.0.0.1:8092`. */
  readonly gatewayUrl: string;
  /** Key of this run. It never enters the sandbox. */
  readonly key: string;
  /** Called with the body if the gateway has no budget left for the run, or asks it to wait. */
  readonly onRefused?: (body: string) => void;
  /** Called with the reason if the gateway does not answer a call, or breaks off its answer. */
  readonly onLost?: (message: string) => void;
}

export interface Door {
  /** Ends every connection and removes the socket. */
  close(): Promise<void>;
}

/** Requests that an agent may send to the gateway. */
const allowed: readonly { readonly method: string; readonly path: RegExp }[] = [
  { method: 'POST', path: /^\/v1\/(chat\/completions|messages|messages\/count_tokens|responses)$/ },
  {
    method: 'POST',
    path: /^\/v1beta\/models\/[^/:]+:(generateContent|streamGenerateContent|countTokens)$/,
  },
  { method: 'GET', path: /^\/v1(beta)?\/models(\/[^/]+)?$/ },
];

/** Headers of a single connection (RFC 9110, 7.6.1), and all headers with credentials of the agent. */
const kept = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['expect', 'host', 'proxy-authenticate', 'proxy-authorization'],
  ...['authorization', 'x-api-key', 'x-goog-api-key', 'cookie', 'set-cookie'],
]);
/** Statuses for an exhausted budget and for too many requests. */
const refusals = new Set([402, 429]);
const credentialParameter = 'key';
/** Maximum number of connections. An agent has few at a time. */
const maxConnections = 64;
/** Maximum number of calls in flight; others wait. The gateway holds several copies of each request, of up to 20 MB. */
const maxCalls = 16;
const maxWaitMs = 2 ** 31 - 1;

/**
 * Proxy from a sandbox to core-model-gateway. Streams model calls in both directions, with the key of the run instead of the agent's
 * credential. Refuses all other requests.
 */
export async function openModelDoor(options: ModelDoorOptions): Promise<Door> {
  // The gateway keeps the time of its upstreams.
  const connections = openConnections({ idleMs: 0 });
  const calls = new FairSemaphore(
    { concurrency: maxCalls, maxPending: maxConnections },
    () => new Unavailable('queue_full', 'the agent has too many calls of its model under way'),
  );
  const server: Server = createServer({ requestTimeout: 0 }, (request, response) => {
    inBackground('a call of a model', () => answer(request, response, { ...options, connections, calls }));
  });
  server.maxConnections = maxConnections;
  await listenOn(server, options.socket);
  return {
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await connections.destroy();
      await closed;
    },
  };
}

interface Gateway extends Omit<ModelDoorOptions, 'socket'> {
  readonly connections: Connections;
  readonly calls: FairSemaphore;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { gatewayUrl, key, onRefused, onLost, connections, calls }: Gateway,
): Promise<void> {
  const { method = '', url = '' } = request;
  const target = targetOf(url);
  // Some agents first check whether the server answers.
  if (method === 'HEAD' && target?.pathname === '/') return void response.writeHead(200).end();
  if (target === null || !allowed.some((rule) => rule.method === method && rule.path.test(target.pathname))) {
    const path = target?.pathname ?? url;
    return refuse(response, 403, `the door to the models does not lead to ${method} ${path.slice(0, 200)}`);
  }
  const left = new AbortController();
  response.once('close', () => left.abort());
  let leave: Release | null = null;
  try {
    leave = await calls.enter('agent', maxWaitMs, left.signal);
    const reply = await connections.request(
      gatewayUrl.replace(/\/+$/, '') + target.pathname + target.search,
      {
        method: method as 'GET' | 'POST',
        headers: [...passedOn(request), 'authorization', `Bearer ${key}`],
        body: method === 'GET' ? null : request,
        signal: left.signal,
      },
    );
    response.writeHead(reply.statusCode, passedOnObject(reply.headers));
    if (onRefused && refusals.has(reply.statusCode)) {
      const body = await reply.body.text();
      onRefused(body);
      return void response.end(body);
    }
    reply.body.once(
      'error',
      guarded('the door to the models', (error: unknown) => {
        if (!left.signal.aborted) onLost?.(`core-model-gateway broke an answer off: ${messageOf(error)}`);
      }),
    );
    response.flushHeaders();
    await pipeline(reply.body, response);
  } catch (error) {
    // A broken answer must not look complete.
    if (response.headersSent) return void response.destroy();
    const message = `core-model-gateway did not answer: ${messageOf(error)}`;
    if (!left.signal.aborted) onLost?.(message);
    refuse(response, 502, message);
  } finally {
    leave?.();
  }
}

/** URL of a request; null if it does not name a path of this server. */
function targetOf(url: string): URL | null {
  if (!url.startsWith('/') || !URL.canParse(url, 'http://door')) return null;
  const target = new URL(url, 'http://door');
  if (target.host !== 'door') return null;
  if (target.searchParams.has(credentialParameter)) target.searchParams.delete(credentialParameter);
  return target;
}

/** Forwarded headers: alternating names and values, in the received order. */
function passedOn({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/[\s,]+/));
  return rawHeaders.filter((_, index) => {
    const name = rawHeaders[index - (index % 2)]!.toLowerCase();
    return !kept.has(name) && !named.has(name);
  });
}

function passedOnObject(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | string[]> {
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && !kept.has(name));
  return Object.fromEntries(entries) as Record<string, string | string[]>;
}

/** Answers with an error in a format that clients of all dialects read. */
function refuse(response: ServerResponse, status: number, message: string): void {
  const type = status === 403 ? 'permission_error' : 'api_error';
  response
    .writeHead(status, { 'content-type': 'application/json', connection: 'close' })
    .end(JSON.stringify({ type: 'error', error: { type, code: `door_${status}`, message } }));
}
