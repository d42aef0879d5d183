import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import type Router from '@koa/router';
import type Koa from 'koa';
import type { Registry } from 'prom-client';
import type { Health } from '../contracts/health.ts';
import { codeOf, NotFound, Unavailable } from '../errors.ts';
import type { Logger, LogLevel } from '../log.ts';
import type { Redactor } from '../redaction.ts';
import { levelOfNews, patienceAtEnd } from '../supervisor-channel.ts';
import type { Identity, Scope, Tokens } from '../tokens.ts';
import { type Binding, createAccess } from './access.ts';
import { readJsonBody, readUpload } from './body.ts';
import { answerDirect, isDirect } from './direct-route.ts';
import { openEventStream } from './event-stream.ts';
import { cannotListen, listener } from './listener.ts';
import { createHttpMetrics } from './metrics.ts';
import { MethodNotAllowed, problemHeaders, problemOf, problemType } from './problem.ts';
import { declaredQuery } from './query.ts';
import { answerRaw, describedRaw, type RawRoute } from './raw-route.ts';
import { useOriginForm } from './request-target.ts';
import type { Reply, Route, RouteRequest, StreamReply } from './route.ts';
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
  /** Bytes of a request's body; default 1 MiB. */
  readonly bodyLimit?: number;
  /** What is said where no route is, in place of a problem. */
  readonly refuseUnknown?: (error: unknown, id: string) => UnknownAnswer;
  /** Routes for which what stands between is too slow. */
  readonly raw?: readonly RawRoute[];
  /** Adds measurements of the service's own to `/v1/metrics`, when they are read first. */
  readonly measure?: (registry: Registry) => void;
  /** Takes over connections that ask for another protocol; without it they are answered like any request. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

export interface UnknownAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly json: unknown;
}

export interface HttpServer {
  /** Listens; resolves with the address. @throws Failed (`port_in_use`) */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Ends live streams, lets answers finish for a few seconds, then cuts what is left. */
  close(): Promise<void>;
}

interface State {
  id: string;
  identity: Identity | null;
  /** Pattern of the matched route; `none` where nothing matched. */
  route: string;
  /** What that route takes. */
  scope: Scope | null;
}
type Context = Koa.ParameterizedContext<State>;
type App = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const maxStreams = 200;
/** Milliseconds between looks, at the end, for connections on which nothing is asked any more. */
const idleMs = 20;
/** By then, in milliseconds, the services that are started together are all there. */
const warmAfterMs = 10_000;
const cannotLoad = 'the HTTP interface cannot be loaded';

/** Connections that are not taken yet; Node's own number resets those of a burst of a thousand. */
const mostWaiting = 4_096;

/** A koa server with what every service of Core has: access, problems, health, metrics, its description. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { service, version, binding, logger, redactor } = options;
  const { bodyLimit = 1024 * 1024, settings = 'agentd' } = options;
  const access = createAccess(binding, options.tokens, settings);
  const metrics = createHttpMetrics(service, options.measure);
  const ending = new AbortController();
  const rawRoutes = new Map((options.raw ?? []).map((raw) => [`${raw.method} ${raw.path}`, raw]));
  const described = [...options.routes, ...(options.raw ?? []).map(describedRaw)];
  const standard = standardRoutes({ ...options, routes: described, metrics });
  const routes = [...options.routes, ...standard.routes];
  rawRoutes.set(`GET ${standard.health.path}`, standard.health);
  let streams = 0;
  let loading: Promise<App> | null = null;
  let loaded: App | null = null;
  let warming: NodeJS.Timeout | undefined;
  let closing = false;

  async function answerAndRecord(ctx: Context, next: Koa.Next): Promise<void> {
    const started = performance.now();
    ctx.state.id = requestId(ctx.get('x-request-id'));
    ctx.state.identity = null;
    ctx.state.route = 'none';
    ctx.state.scope = null;
    ctx.set(securityHeaders);
    ctx.set('X-Request-Id', ctx.state.id);
    try {
      await next();
    } catch (error) {
      answerProblem(ctx, error);
    }
    const milliseconds = performance.now() - started;
    const by = (ctx.state.identity as Identity | null)?.name;
    metrics.observe(ctx.method, ctx.state.route, ctx.status, milliseconds / 1000);
    logger[levelOf(ctx)](`${ctx.method} ${ctx.path} ${ctx.status}`, {
      request_id: ctx.state.id,
      ms: Math.round(milliseconds),
      ...(by === undefined ? {} : { by }),
    });
  }

  function answerProblem(ctx: Context, error: unknown): void {
    if (options.refuseUnknown !== undefined && ctx.state.route === 'none' && ctx.path.startsWith('/v1/')) {
      const { status, headers, json } = options.refuseUnknown(error, ctx.state.id);
      answerReply(ctx, { status, headers: { ...problemHeaders(error), ...headers }, json });
      return;
    }
    const problem = problemOf(error, { path: ctx.path, id: ctx.state.id }, redactor);
    if (problem.status === 500) logger.error('request failed', { request_id: ctx.state.id, error });
    ctx.status = problem.status;
    ctx.set(problemHeaders(error));
    ctx.body = JSON.stringify(problem);
    ctx.type = problemType;
  }

  async function guard(ctx: Context, next: Koa.Next): Promise<void> {
    access.checkOrigin(ctx.req.headersDistinct.host ?? [], ctx.req.headers.origin);
    ctx.state.identity = access.authenticate(ctx.req.headers.authorization);
    await next();
  }

  async function answerRoute(route: Route, ctx: Context & { params: Record<string, string> }): Promise<void> {
    ctx.state.route = route.path;
    ctx.state.scope = route.scope;
    access.checkScope(ctx.state.identity, route.scope);
    const query = declaredQuery(ctx.query, route);
    const body = await bodyOf(route, ctx.req);
    const request: RouteRequest = {
      id: ctx.state.id,
      params: ctx.params,
      query,
      body,
      header: (name) => ctx.get(name) || undefined,
      identity: ctx.state.identity,
      log: logger.child({ request_id: ctx.state.id }),
    };
    const answer = await route.handle(request);
    if ('stream' in answer) answerStream(ctx, answer);
    else answerReply(ctx, answer);
  }

  function bodyOf(route: Route, request: IncomingMessage): unknown {
    if (route.upload !== null) return readUpload(request, route.upload);
    if (route.body === null) return null;
    return readJsonBody(request, route.body, { limit: bodyLimit, optional: route.bodyOptional });
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

  function answerStream(ctx: Context, { stream }: StreamReply): void {
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
    const { output, sink, end } = openEventStream(ending.signal);
    output.once('close', () => {
      streams--;
    });
    ctx.body = output;
    const { id } = ctx.state;
    stream(sink)
      .catch((error) => logger.warn('live stream broke', { request_id: id, error }))
      .finally(end);
  }

  function nothingHere(ctx: Context, router: Router<State>): void {
    access.checkScope(ctx.state.identity, 'read');
    const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods));
    for (const { method, path } of rawRoutes.values()) if (path === ctx.path) methods.add(method);
    if (methods.size === 0) {
      throw new NotFound(
        'path_not_found',
        `there is nothing at ${ctx.path}; /v1/openapi.json lists the paths`,
      );
    }
    const allow = [...methods].sort().join(', ');
    if (ctx.method !== 'OPTIONS') throw new MethodNotAllowed(ctx.method, ctx.path, allow);
    ctx.set('Allow', allow);
    ctx.status = 204;
  }

  /** Koa takes longer to load than all else here, and a health check needs nothing of it. */
  function loadApp(): Promise<App> {
    loading ??= makeApp().finally(() => {
      loading = null;
    });
    return loading;
  }

  async function makeApp(): Promise<App> {
    const [{ default: Koa }, { default: Router }] = await Promise.all([import('koa'), import('@koa/router')]);
    const router = new Router<State>();
    for (const route of routes) {
      const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
      router.register(path, [route.method], (ctx) => answerRoute(route, ctx as never));
    }
    const koa = new Koa<State>();
    koa.silent = true;
    koa.on('error', (error: unknown) => {
      // A client that leaves is no failure of ours.
      if (!clientLeft.has(codeOf(error))) logger.warn('answer broke off', { error });
    });
    koa
      .use(answerAndRecord)
      .use(guard)
      .use(router.routes() as never)
      .use((ctx) => nothingHere(ctx, router));
    loaded = koa.callback();
    return loaded;
  }

  /** So that the first who asks for something does not wait for it. */
  function warm(): void {
    loadApp().catch((error) => logger.error(cannotLoad, { error }));
    metrics.registry().catch((error) => logger.error(cannotLoad, { error }));
  }

  function answerOthers(request: IncomingMessage, response: ServerResponse): void {
    if (loaded !== null) return void loaded(request, response);
    loadApp()
      .then((answer) => answer(request, response))
      .catch((error) => {
        logger.error(cannotLoad, { error });
        response.writeHead(500).end();
      });
  }

  const headers = Object.entries(securityHeaders).flat();
  const parts = { access, metrics, logger, redactor, bodyLimit, headers, requestId };
  const rawParts = { ...parts, headers: Object.entries(dataHeaders).flat() };
  const direct = new Map(options.routes.filter(isDirect).map((one) => [`${one.method} ${one.path}`, one]));
  const answer: RequestListener = (request, response) => {
    useOriginForm(request);
    // Else whoever asks on and on keeps the connection, and with it this process.
    if (closing) response.setHeader('Connection', 'close');
    const directly = direct.get(`${request.method} ${request.url}`);
    if (directly !== undefined) return void answerDirect(directly, request, response, parts);
    const [path] = request.url!.split('?', 1);
    const raw = rawRoutes.get(`${request.method} ${path}`);
    if (raw === undefined) answerOthers(request, response);
    else answerRaw(raw, request, response, rawParts);
  };
  const server = listener(binding, answer, settings);
  if (options.upgrade !== undefined) server.on('upgrade', options.upgrade);

  return {
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once('error', (error) => reject(cannotListen(error, binding, settings)));
        const host = binding.host.replace(/^\[|\]$/g, '');
        server.listen({ port: binding.port, host, backlog: mostWaiting }, resolve);
      });
      const { port } = server.address() as AddressInfo;
      const host =
        binding.host.includes(':') && !binding.host.startsWith('[') ? `[${binding.host}]` : binding.host;
      const url = `${binding.tls === null ? 'http' : 'https'}://${host}:${port}`;
      logger[levelOfNews()](`${service} ${version} listens on ${url}`);
      warming = setTimeout(warm, warmAfterMs).unref();
      return { url, port };
    },
    async close() {
      clearTimeout(warming);
      if (!server.listening) return;
      closing = true;
      ending.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const idle = setInterval(() => server.closeIdleConnections(), idleMs);
      const cut = setTimeout(() => server.closeAllConnections(), patienceAtEnd());
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
    },
  };
}

/** What changes nothing is told only to who looks closely. */
function levelOf({ method, status, state }: Context): LogLevel {
  if (status >= 500) return 'warn';
  if (method === 'GET' || method === 'HEAD') return 'debug';
  return state.scope === 'read' && status < 400 ? 'debug' : 'info';
}

function bodyOfAnswer(bytes: string | Uint8Array | AsyncIterable<string>): string | Buffer | Readable {
  if (typeof bytes === 'string') return bytes;
  return bytes instanceof Uint8Array ? Buffer.from(bytes) : Readable.from(bytes);
}

/** Enough where every answer is JSON or a stream of events, which no browser takes for a document, and every microsecond counts. */
const dataHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

const securityHeaders = {
  ...dataHeaders,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
};

const clientLeft = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE']);

function requestId(given: string | undefined): string {
  return given !== undefined && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : randomUUID();
}
