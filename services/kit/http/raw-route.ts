import type { IncomingMessage, ServerResponse } from 'node:http';
import type * as t from 'io-ts';
import type { Logger } from '../log.ts';
import type { Identity } from '../tokens.ts';
import type { Access } from './access.ts';
import type { HttpMetrics } from './metrics.ts';
import type { Route, RouteFacts } from './route.ts';

export interface RawCaller {
  /** Names the request in the log. */
  readonly id: string;
  readonly identity: Identity | null;
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
  refuse(response: ServerResponse, error: unknown, id: string): void;
}

export interface RawParts {
  readonly access: Access;
  readonly metrics: Pick<HttpMetrics, 'observe'>;
  readonly logger: Logger;
  readonly headers: Readonly<Record<string, string>>;
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
  const given = request.headers['x-request-id'];
  const id = parts.requestId(typeof given === 'string' ? given : undefined);
  for (const name in parts.headers) response.setHeader(name, parts.headers[name]!);
  response.setHeader('X-Request-Id', id);
  let identity: Identity | null = null;
  response.once('close', () => {
    const ms = performance.now() - started;
    metrics.observe(route.method, route.path, response.statusCode, ms / 1000);
    const level = response.statusCode >= 500 ? 'warn' : 'debug';
    const by = identity === null ? {} : { by: identity.name };
    logger[level](`${route.method} ${route.path} ${response.statusCode}`, {
      request_id: id,
      ms: Math.round(ms),
      ...by,
    });
  });
  try {
    access.checkOrigin(hostsOf(request), request.headers.origin);
    identity = access.authenticate(request.headers.authorization);
    access.checkScope(identity, route.scope);
    route.handle(request, response, { id, identity }).catch((error) => route.refuse(response, error, id));
  } catch (error) {
    route.refuse(response, error, id);
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
