import type { IncomingMessage, ServerResponse } from 'node:http';
import type * as t from 'io-ts';
import type { Logger } from '../log.ts';
import type { Identity } from '../tokens.ts';
import type { Access } from './access.ts';
import type { HttpMetrics } from './metrics.ts';
import type { Route, RouteFacts } from './route.ts';

/** Writes the head of the answer: these headers, and those that every answer has. */
export type WriteHead = (status: number, headers: Readonly<Record<string, string>>) => void;

export interface RawCaller {
  /** Names the request in the log. */
  readonly id: string;
  readonly identity: Identity | null;
  readonly writeHead: WriteHead;
}

/**
 * A route that reads its request and writes its answer itself, for work where every microsecond or byte counts. Who may ask is
 * checked before, as for every route.
 */
export interface RawRoute extends RouteFacts {
  /** For the description alone. */
  readonly body: t.Mixed | null;
  handle(request: IncomingMessage, response: ServerResponse, caller: RawCaller): Promise<void>;
  /** Answers what was refused before `handle`, and what it threw. */
  refuse(response: ServerResponse, error: unknown, caller: Omit<RawCaller, 'identity'>): void;
}

export interface RawParts {
  readonly access: Access;
  readonly metrics: Pick<HttpMetrics, 'observe'>;
  readonly logger: Logger;
  /** Of every answer: names and values in turn. */
  readonly headers: readonly string[];
  requestId(given: string | undefined): string;
}

export function answerRaw(
  route: RawRoute,
  request: IncomingMessage,
  response: ServerResponse,
  parts: RawParts,
): void {
  const { access, metrics, logger } = parts;
  const started = performance.now();
  let begun: number | null = null;
  const given = request.headers['x-request-id'];
  const id = parts.requestId(typeof given === 'string' ? given : undefined);
  let identity: Identity | null = null;
  // One list for the whole head costs a fraction of setting headers one by one.
  const writeHead: WriteHead = (status, headers) => {
    begun = performance.now();
    const lines = [...parts.headers, 'X-Request-Id', id];
    for (const name in headers) lines.push(name, headers[name]!);
    response.writeHead(status, lines);
  };
  response.once('close', () => {
    const { statusCode } = response;
    const ended = performance.now();
    metrics.observe(route.method, route.path, statusCode, ((begun ?? ended) - started) / 1000);
    const by = identity === null ? {} : { by: identity.name };
    logger[statusCode >= 500 ? 'warn' : 'debug'](`${route.method} ${route.path} ${statusCode}`, {
      request_id: id,
      ms: Math.round(ended - started),
      ...by,
    });
  });
  try {
    access.checkOrigin(hostsOf(request), request.headers.origin);
    identity = access.authenticate(request.headers.authorization);
    access.checkScope(identity, route.scope);
    const caller = { id, identity, writeHead };
    route.handle(request, response, caller).catch((error) => route.refuse(response, error, caller));
  } catch (error) {
    route.refuse(response, error, { id, writeHead });
  }
}

/** Node keeps the first of several `Host` headers; the raw ones tell of all. */
export function hostsOf({ rawHeaders }: IncomingMessage): string[] {
  const hosts: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts.push(rawHeaders[at + 1]!);
  }
  return hosts;
}

/** As a route for the description of the service. */
export function describedRaw(route: RawRoute): Route {
  return {
    ...route,
    bodyOptional: false,
    upload: null,
    handle: () => Promise.reject(new Error('a raw route is answered elsewhere')),
  };
}
