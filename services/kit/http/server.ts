import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import Koa from 'koa';
import { guarded } from '../callbacks.ts';
import type { Health } from '../contracts/health.ts';
import { CoreError, codeOf, NotFound, Unavailable } from '../errors.ts';
import type { Logger, LogLevel } from '../log.ts';
import { Registry } from '../prometheus.ts';
import { withoutHidingEscapes } from '../redaction/find-secrets.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { shutdownGraceMs, startupLogLevel } from '../supervisor-channel.ts';
import type { Identity, Tokens } from '../tokens/tokens.ts';
import { type Binding, createAccess } from './authentication.ts';
import { readBody } from './body.ts';
import { openEventStream } from './event-stream.ts';
import { cannotListen, listener } from './listener.ts';
import { measureHttp } from './metrics.ts';
import { MethodNotAllowed, problemHeaders, problemOf, problemType } from './problem.ts';
import {
  declaredQuery,
  type Reply,
  type Route,
  type RouteRequest,
  type StreamReply,
  type TokenPlaces,
  type WrittenReply,
} from './route.ts';
import { standardRoutes } from './standard-routes.ts';

export interface HttpServerOptions {
  readonly service: string;
  readonly version: string;
  readonly binding: Binding;
  readonly tokens: Tokens;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly routes: readonly Route[];
  readonly health: () => Promise<Health>;
  /** Where the binding is configured, for what is said about it; default `agentd`, in core.json. */
  readonly settings?: string;
  /** Bytes of a request's JSON body; default 1 MiB. */
  readonly bodyLimit?: number;
  /** Response for unmatched routes below `/v1/` and for callers that are refused, in place of a problem. */
  readonly refuseUnknown?: (error: unknown, id: string) => Reply;
  /** Called before a route of the service's own is answered, and where none matches: what it throws is the answer. */
  readonly requireActive?: () => void;
  /** Measurements of the service's own for `/v1/metrics`. */
  readonly registry?: Registry;
  /** Takes over connections that ask for another protocol; without it they are answered like any request. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

export interface HttpServer {
  /** Listens; resolves with the address. @throws Failed (`port_in_use`) */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Ends live streams, lets answers finish for a few seconds, then cuts what is left. */
  close(): Promise<void>;
}

/** Not imported, as node-http.ts says of what it imports. */
const { Router }: typeof import('@koa/router') = createRequire(import.meta.url)('@koa/router');

interface State {
  id: string;
  identity: Identity | null;
  /** The one that was matched. */
  route: Route | null;
  /** Whether the caller's origin and token are good. */
  admitted: boolean;
  /** Whether it was refused because another process is the active one. */
  isStandby: boolean;
  /** When the answer began, by the monotonic clock, where that was before its handler ended. */
  begun: number | null;
}
type Context = Koa.ParameterizedContext<State>;

type WhoAsks = Pick<Route, 'tokenIn' | 'identify'>;

const maxStreams = 200;
/** Milliseconds between looks at whether a stream may go on. */
const allowedMs = 1_000;
/** Milliseconds between looks, at the end, for connections on which nothing is asked any more. */
const idleMs = 20;

/** Connections that are not taken yet; Node's own number resets those of a burst of a thousand. */
const maxPendingConnections = 4_096;

/** A koa server with what every service of Core has: access, problems, health, metrics, its description. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { service, version, binding, logger, redactor } = options;
  const { bodyLimit = 1024 * 1024, settings = 'agentd', registry = new Registry() } = options;
  const access = createAccess(binding, options.tokens, settings);
  const metrics = measureHttp(service, registry);
  const ending = new AbortController();
  const routes = [...options.routes, ...standardRoutes({ ...options, metrics })];
  let streams = 0;

  async function answerAndRecord(ctx: Context, next: Koa.Next): Promise<void> {
    const started = performance.now();
    const id = requestId(ctx.get('x-request-id'));
    ctx.state = { id, identity: null, route: null, admitted: false, isStandby: false, begun: null };
    ctx.set(securityHeaders);
    ctx.set('X-Request-Id', id);
    // Else whoever asks on and on keeps the connection, and with it this process.
    if (ending.signal.aborted) ctx.set('Connection', 'close');
    try {
      await next();
    } catch (error) {
      answerError(ctx, error);
    }
    const ended = performance.now();
    const { route, identity, begun } = ctx.state;
    metrics.observe(ctx.method, route?.path ?? 'none', ctx.status, ((begun ?? ended) - started) / 1000);
    logger[levelOf(ctx)](`${ctx.method} ${withoutHidingEscapes(ctx.path)} ${ctx.status}`, {
      request_id: id,
      ms: Math.round(ended - started),
      ...(identity === null ? {} : { by: identity.name }),
    });
  }

  function answerError(ctx: Context, error: unknown): void {
    const { id, route } = ctx.state;
    route?.onError?.(error);
    const own = ownErrorReply(ctx, error);
    const reply = own ?? problemReply(ctx, error);
    // Known errors of a route with replies of its own may repeat what was asked, which no log holds.
    const isOwn = own !== null && error instanceof CoreError;
    if (reply.status === 500 && !isOwn) logger.error('request failed', { request_id: id, error });
    if (ctx.headerSent) {
      ctx.res.destroy();
      return;
    }
    ctx.respond = true;
    answerReply(ctx, reply);
  }

  function ownErrorReply(ctx: Context, error: unknown): Reply | null {
    const { id, route, identity } = ctx.state;
    return route?.errorReply?.(error, { id, path: ctx.path, headers: ctx.headers, identity }) ?? null;
  }

  function problemReply(ctx: Context, error: unknown): Reply {
    const { id, admitted } = ctx.state;
    if (options.refuseUnknown !== undefined && !admitted && ctx.path.startsWith('/v1/')) {
      const reply = options.refuseUnknown(error, id);
      return { ...reply, headers: { ...problemHeaders(error), ...reply.headers } };
    }
    const problem = problemOf(error, { path: withoutHidingEscapes(ctx.path), id }, redactor);
    return {
      status: problem.status,
      headers: problemHeaders(error),
      content: { type: problemType, bytes: JSON.stringify(problem) },
    };
  }

  /** @throws what `Access` throws */
  async function admit(ctx: Context, route: WhoAsks = {}): Promise<void> {
    access.checkOrigin(hostsOf(ctx.req), ctx.req.headers.origin);
    ctx.state.identity = await whoAsks(ctx, route);
  }

  /** @throws Unauthorized (`token_invalid`), Unavailable */
  async function whoAsks(ctx: Context, { tokenIn, identify }: WhoAsks): Promise<Identity | null> {
    const { headers } = ctx.req;
    if (identify !== undefined) return identify(headers);
    const token = tokenAt(ctx, tokenIn);
    const asked = access.lookUp(headers.authorization, token);
    if (asked !== null) await asked;
    return access.authenticate(headers.authorization, token);
  }

  /** Whether who asked for a stream would get it now: a token may be revoked or lose its scope, a session may end. */
  async function isStillAllowed(ctx: Context, route: Route): Promise<boolean> {
    try {
      const identity = await whoAsks(ctx, route);
      access.checkScope(identity, route.scope);
      return (identity === null) === (ctx.state.identity === null);
    } catch {
      return false;
    }
  }

  async function answerRoute(route: Route, ctx: Context & { params: Record<string, string> }): Promise<void> {
    ctx.state.route = route;
    await admit(ctx, route);
    ctx.state.admitted = true;
    access.checkScope(ctx.state.identity, route.scope);
    if (options.routes.includes(route)) requireActive(ctx);
    const request: RouteRequest = {
      id: ctx.state.id,
      params: ctx.params,
      query: declaredQuery(ctx.query, route),
      body: await readBody(ctx.req, route.body, bodyLimit),
      header: (name) => ctx.get(name) || undefined,
      headers: ctx.req.headers,
      search: ctx.querystring,
      identity: ctx.state.identity,
      log: logger.child({ request_id: ctx.state.id }),
    };
    const answer = await route.handle(request);
    if ('stream' in answer) answerStream(ctx, route, answer);
    else if ('write' in answer) await answerWritten(ctx, answer);
    else answerReply(ctx, answer);
  }

  function requireActive(ctx: Context): void {
    try {
      options.requireActive?.();
    } catch (error) {
      ctx.state.isStandby = true;
      throw error;
    }
  }

  function answerReply(ctx: Context, { status = 200, headers = {}, json, content }: Reply): void {
    ctx.status = status;
    ctx.set(headers);
    if (content !== undefined) {
      ctx.body = bodyOfAnswer(content.bytes);
      ctx.set('Content-Type', content.type);
    } else {
      ctx.body = JSON.stringify(json);
      ctx.set('Content-Type', 'application/json; charset=utf-8');
    }
  }

  async function answerWritten(ctx: Context, { write }: WrittenReply): Promise<void> {
    ctx.respond = false;
    ctx.status = 200;
    await write(ctx.res, (status, headers) => {
      ctx.state.begun = performance.now();
      ctx.res.writeHead(status, headers);
    });
  }

  function answerStream(ctx: Context, route: Route, { stream }: StreamReply): void {
    ctx.set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    if (ctx.method === 'HEAD') {
      ctx.body = '';
      return;
    }
    if (streams >= maxStreams) {
      throw new Unavailable('too_many_streams', `${maxStreams} live streams are open, the limit`, {
        retryAfter: 10,
      });
    }
    streams++;
    const refused = new AbortController();
    const look = setInterval(
      guarded('an HTTP connection', async () => {
        if (!(await isStillAllowed(ctx, route))) refused.abort();
      }),
      allowedMs,
    ).unref();
    const { output, sink, end } = openEventStream(AbortSignal.any([ending.signal, refused.signal]));
    output.once(
      'close',
      guarded('an HTTP connection', () => {
        clearInterval(look);
        streams--;
      }),
    );
    ctx.body = output;
    const { id } = ctx.state;
    stream(sink)
      .catch((error) => logger.warn('live stream broke', { request_id: id, error }))
      .finally(end);
  }

  async function answerUnmatched(ctx: Context): Promise<void> {
    await admit(ctx);
    access.checkScope(ctx.state.identity, 'read');
    requireActive(ctx);
    const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods));
    if (methods.size === 0) {
      throw new NotFound(
        'path_not_found',
        `there is nothing at ${withoutHidingEscapes(ctx.path)}; /v1/openapi.json lists the paths`,
      );
    }
    const allow = [...methods].sort().join(', ');
    if (ctx.method !== 'OPTIONS')
      throw new MethodNotAllowed(ctx.method, withoutHidingEscapes(ctx.path), allow);
    ctx.set('Allow', allow);
    ctx.status = 204;
  }

  const router = new Router<State>();
  for (const route of routes) {
    const path = route.path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
    router.register(path, [route.method], (ctx) => answerRoute(route, ctx as never));
  }
  const koa = new Koa<State>();
  koa.silent = true;
  koa.on(
    'error',
    guarded('an HTTP connection', (error: unknown) => {
      // A client that leaves is no failure of ours.
      if (!clientLeft.has(codeOf(error))) logger.warn('answer broke off', { error });
    }),
  );
  koa
    .use(answerAndRecord)
    .use(router.routes() as never)
    .use(answerUnmatched);
  const answer = koa.callback();
  const server = listener(
    binding,
    guarded('an HTTP connection', (request, response) => answer(request, response)),
    settings,
  );
  if (options.upgrade !== undefined) server.on('upgrade', guarded('an HTTP connection', options.upgrade));

  return {
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once('error', (error) => reject(cannotListen(error, binding, settings)));
        const host = binding.host.replace(/^\[|\]$/g, '');
        server.listen({ port: binding.port, host, backlog: maxPendingConnections }, resolve);
      });
      const { port } = server.address() as AddressInfo;
      const host =
        binding.host.includes(':') && !binding.host.startsWith('[') ? `[${binding.host}]` : binding.host;
      const url = `${binding.tls === null ? 'http' : 'https'}://${host}:${port}`;
      logger[startupLogLevel()](`${service} ${version} listens on ${url}`);
      return { url, port };
    },
    async close() {
      if (!server.listening) return;
      ending.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const idle = setInterval(
        guarded('an HTTP connection', () => server.closeIdleConnections()),
        idleMs,
      );
      const cut = setTimeout(
        guarded('an HTTP connection', () => server.closeAllConnections()),
        shutdownGraceMs(),
      );
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
    },
  };
}

/** Requests that change nothing are logged at debug, and what a standby refuses. */
function levelOf({ method, status, state: { route, isStandby } }: Context): LogLevel {
  const debugBelow = route?.debugBelow ?? (route?.scope === 'read' ? 400 : 0);
  if (isStandby || status < debugBelow) return 'debug';
  if (status >= 500) return 'warn';
  return method === 'GET' || method === 'HEAD' ? 'debug' : 'info';
}

/**
 * The hosts that a request names. A target in absolute form, as clients send it that take a server for a proxy, counts in place of
 * the header. Source: RFC 9112, 3.2.2.
 */
function hostsOf({ url = '', headersDistinct }: IncomingMessage): readonly string[] {
  const hosts = headersDistinct.host ?? [];
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
  return authority === undefined ? hosts : hosts.map(() => authority);
}

/** The first that is there. */
function tokenAt(
  { req, query }: Context,
  { headers = [], query: parameter }: TokenPlaces = {},
): string | undefined {
  const inQuery = parameter === undefined ? undefined : query[parameter];
  const values = [...headers.map((name) => req.headers[name]), inQuery];
  return values.flat().find((value) => value !== undefined && value !== '');
}

function bodyOfAnswer(bytes: string | Uint8Array | AsyncIterable<string>): string | Buffer | Readable {
  if (typeof bytes === 'string') return bytes;
  return bytes instanceof Uint8Array ? Buffer.from(bytes) : Readable.from(bytes);
}

const securityHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
};

const clientLeft = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE']);

function requestId(given: string | undefined): string {
  return given !== undefined && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : randomUUID();
}
