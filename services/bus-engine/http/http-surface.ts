import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Unavailable } from '#kit/errors.ts';
import { FairSemaphore } from '#kit/jobs/fair-semaphore.ts';
import type { Logger } from '#kit/log.ts';
import type { BusAccess } from '../admission/bus-access.ts';
import type { Outcome } from '../calls/pending-call.ts';
import type { OpenedChannel } from '../channels/channels.ts';
import type { BusConfig } from '../configuration.ts';
import type { Engine } from '../engine.ts';
import { answerFrom, answerOf, sendAnswer, sendError, sendThrown } from './answer.ts';
import { bodyOf, payloadOf, type RequestPayload } from './request-payload.ts';
import type { HttpRoute, MatchedRoute } from './routes.ts';

export interface HttpSurfaceParts {
  readonly config: BusConfig;
  readonly access: BusAccess;
  readonly engine: Pick<Engine, 'routes' | 'functions' | 'calls' | 'channels' | 'health'>;
  readonly logger: Logger;
}

/** The limit of Node's timers, in milliseconds. */
const maxWaitMs = 2 ** 31 - 1;

const defaultHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

export function httpSurface(parts: HttpSurfaceParts): RequestListener {
  const { config, access, engine, logger } = parts;
  const { routes, functions, calls, channels } = engine;
  const places = new FairSemaphore(
    { concurrency: config.http.requests, maxPending: Number.MAX_SAFE_INTEGER },
    () => new Unavailable('bus_busy', 'too many requests wait', { retryAfter: 1 }),
  );
  const timeoutMs = config.http.seconds * 1_000;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    access.checkOrigin(request);
    for (const [name, value] of Object.entries(access.corsHeaders(request))) response.setHeader(name, value);
    if (request.method === 'GET' && path === '/healthz') return answerHealth(response);
    const matched = routes.find(request.method ?? 'GET', path);
    if (matched === null) return nothingHere(request, response, path);
    if (!isOpen(matched.route)) access.checkScope(request, isRead(matched.route) ? 'read' : 'plan');
    await places.run('requests', maxWaitMs, async () => {
      if (!response.destroyed) await answerRoute(request, response, matched);
    });
  }

  function answerHealth(response: ServerResponse): void {
    const now = engine.health();
    const status = now.status === 'failing' ? 503 : 200;
    sendAnswer(response, {
      status,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(now),
    });
  }

  function nothingHere(request: IncomingMessage, response: ServerResponse, path: string): void {
    const methods = routes.methodsOf(path);
    if (methods.length === 0) return void sendError(response, 404, 'NOT_FOUND', 'Not Found');
    const allowed = methods.join(', ');
    const headers = { Allow: allowed };
    if (request.method !== 'OPTIONS') {
      const message = `${request.method} is not defined here; ${allowed} is`;
      return void sendError(response, 405, 'METHOD_NOT_ALLOWED', message, { headers });
    }
    response.writeHead(204, { ...headers, 'Access-Control-Allow-Methods': allowed });
    response.end();
  }

  /** Open to everybody, as long as it is the owner of the trigger who answers. */
  function isOpen({ isPublic, trigger }: HttpRoute): boolean {
    return isPublic && functions.get(trigger.functionId)?.peer.token === trigger.token;
  }

  async function answerRoute(
    request: IncomingMessage,
    response: ServerResponse,
    matched: MatchedRoute,
  ): Promise<void> {
    const bytes = await bodyOf(request, config.http.body_bytes);
    const body = openChannel();
    const written = openChannel();
    try {
      fill(body, bytes);
      const payload = payloadOf(request, matched, bytes, {
        request_body: body.reader,
        response: written.writer,
      });
      await callFor(matched.route, payload, response, written);
    } finally {
      body.close();
      written.close();
    }
  }

  function openChannel(): OpenedChannel {
    const channel = channels.open();
    if (channel !== null) return channel;
    throw new Unavailable('bus_busy', 'too many channels are open', { retryAfter: 1 });
  }

  async function callFor(
    route: HttpRoute,
    payload: RequestPayload,
    response: ServerResponse,
    written: OpenedChannel,
  ): Promise<void> {
    const { trigger, condition } = route;
    if (condition !== null) {
      const held = await calls.call(condition, payload, timeoutMs);
      if (!held.ok) return answerFailure(response, held);
      if (held.result === false) {
        const message = `${condition} does not allow this request`;
        return sendError(response, 422, 'CONDITION_NOT_MET', message, { beside: { skipped: true } });
      }
    }
    const passedOver = (why: string) =>
      logger.warn(`a header of an answer is passed over: ${why}`, { function_id: trigger.functionId });
    const over = new Promise<null>((resolve, reject) => {
      answerFrom(written.channel, response, { passedOver, done: () => resolve(null) }).catch(reject);
      response.once('close', () => resolve(null));
    });
    const started = performance.now();
    const outcome = await Promise.race([
      calls.call(trigger.functionId, payload, timeoutMs, trigger.metadata),
      over,
    ]);
    if (outcome === null) return;
    if (!outcome.ok) return answerFailure(response, outcome);
    if (!written.channel.hasWriter && outcome.result != null)
      return sendAnswer(response, answerOf(outcome.result, passedOver));
    const left = Math.max(0, timeoutMs - (performance.now() - started));
    await Promise.race([over, delay(left, undefined, { ref: false })]);
    sendError(response, 504, 'TIMEOUT', `${trigger.functionId} did not answer`);
  }

  function answerFailure(response: ServerResponse, outcome: Extract<Outcome, { ok: false }>): void {
    const { code, message } = outcome.error;
    const id = randomUUID();
    const status = statuses[code] ?? 500;
    logger.warn(`an http trigger failed: ${code}: ${message}`, { error_id: id });
    sendError(response, status, code, message, { id, headers: status === 503 ? { 'Retry-After': '1' } : {} });
  }

  return (request, response) => {
    for (const [name, value] of Object.entries(defaultHeaders)) response.setHeader(name, value);
    response.on('error', () => {});
    answer(request, response).catch((error) => {
      const id = sendThrown(response, error);
      if (id !== null) logger.error('request failed', { error_id: id, error });
    });
  };
}

/** As an iii answers; `bus_busy` is this engine's own. */
const statuses: Readonly<Record<string, number>> = {
  bus_busy: 503,
  TIMEOUT: 504,
};

function isRead({ method }: HttpRoute): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

function fill({ channel }: OpenedChannel, bytes: Buffer): void {
  channel.join(() => {});
  for (let at = 0; at < bytes.length; at += 65_536) channel.write(bytes.subarray(at, at + 65_536));
  channel.end();
}
