import type { Agent, IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type * as t from 'io-ts';
import type { Dispatcher, RequestInit, Response } from 'undici';
import { decode, parseJson } from '../decode.ts';
import type { Environment } from '../environment.ts';
import { CoreError, codeOf, Failed, Interrupted, messageOf, TimedOut, Unavailable } from '../errors.ts';
import { Redactor } from '../redaction/redactor.ts';
import { type ReceivedEvent, readEvents } from './event-stream.ts';
import { type Exchange, exchange, openAgent, TooLate } from './exchange.ts';
import { errorOfProblem } from './problem.ts';
import { retryAfterSeconds } from './retry-after.ts';

export type Proxies = Pick<Environment, 'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY'>;

export interface ConnectionOptions {
  /** Milliseconds for a connection; default 10 s. */
  readonly connectMs?: number;
  /** Milliseconds until an answer begins, and between two pieces of it; 0 for no limit, default 300 s. */
  readonly idleMs?: number;
  /** Milliseconds until an answer begins, where that is another limit. */
  readonly beginMs?: number;
  /** PEM of the certificates to trust in place of the system's. */
  readonly ca?: string;
  /** Bytes of an answer's body; default: any number. */
  readonly answerLimit?: number;
  /** On the way to others, never to this machine. */
  readonly proxies?: Proxies;
}

interface Noted {
  /** Called when the request goes out: before, nobody can have read it. If it throws, nothing goes out. */
  readonly onSent?: () => void;
}
type RequestOptions = Noted & Omit<NonNullable<Parameters<typeof import('undici').request>[1]>, 'dispatcher'>;

/** The way to other servers over HTTP. Connections are kept open, none is shared by two requests at once, and no redirect is followed. */
export interface Connections extends Pick<Dispatcher, 'dispatch'> {
  request(url: string | URL, options: RequestOptions): Promise<Dispatcher.ResponseData<unknown>>;
  /** The same with an answer that is decoded by its `content-encoding`. */
  fetch(url: string, init: Noted & Omit<RequestInit, 'dispatcher' | 'redirect'>): Promise<Response>;
  destroy(): Promise<void>;
}

const require = createRequire(import.meta.url);

/** What makes connections is loaded with the first request: who only listens starts sooner. */
export function openConnections(options: ConnectionOptions = {}): Connections {
  const undici = () => require('undici') as typeof import('undici');
  let opened: Dispatcher | null = null;
  function dispatcher(): Dispatcher {
    opened ??= dispatcherFor(undici(), options);
    return opened;
  }
  return {
    dispatch: (request, handler) => dispatcher().dispatch(request, handler),
    request: (url, { onSent, ...request }) =>
      undici().request(url, { ...request, dispatcher: noting(dispatcher(), onSent) }),
    fetch: (url, { onSent, ...init }) =>
      undici().fetch(url, { ...init, redirect: 'manual', dispatcher: noting(dispatcher(), onSent) }),
    destroy: async () => opened?.destroy(),
  };
}

function noting(dispatcher: Dispatcher, onSent: (() => void) | undefined): Dispatcher {
  if (onSent === undefined) return dispatcher;
  const dispatch: Dispatcher['dispatch'] = (options, handler) => {
    const connected = handler.onConnect;
    handler.onConnect = (...given) => {
      onSent();
      connected?.apply(handler, given);
    };
    return dispatcher.dispatch(options, handler);
  };
  return { dispatch } as Dispatcher;
}

function dispatcherFor(
  { Agent, EnvHttpProxyAgent }: typeof import('undici'),
  { connectMs = 10_000, idleMs, beginMs = idleMs, answerLimit = -1, ca, proxies }: ConnectionOptions,
): Dispatcher {
  const options = {
    connect: { timeout: connectMs, ...(ca !== undefined && { ca }) },
    maxResponseSize: answerLimit,
    maxHeaderSize: 32_768,
    ...(beginMs !== undefined && { headersTimeout: beginMs }),
    ...(idleMs !== undefined && { bodyTimeout: idleMs }),
  };
  const { HTTP_PROXY: httpProxy = '', HTTPS_PROXY: httpsProxy = '', NO_PROXY = '' } = proxies ?? {};
  if (httpProxy === '' && httpsProxy === '') return new Agent(options);
  const noProxy = `localhost,127.0.0.1,::1,${NO_PROXY}`;
  return new EnvHttpProxyAgent({
    ...{ ...options, httpProxy, httpsProxy, noProxy },
    ...(ca !== undefined && { requestTls: { ca } }),
  });
}

export interface HttpClientOptions {
  /** For example `http://127.0.0.1:7817`. A function is asked before each request: a service may come back elsewhere. */
  readonly baseUrl: string | (() => string);
  /** A function is asked before each request too; what either throws is thrown in place of the request. */
  readonly token?: string | (() => string);
  /** Milliseconds for a whole answer; default 30 s. */
  readonly timeoutMs?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A client of Core's own HTTP interfaces. Problems come back as the errors that the service threw. Only GET is tried again:
 * after any other failure the outcome is not known.
 */
export interface HttpClient {
  get<A>(path: string, codec: t.Type<A, unknown, unknown>, options?: CallOptions): Promise<A>;
  getBytes(path: string, options?: CallOptions): Promise<Uint8Array>;
  post<A>(path: string, body: unknown, codec: t.Type<A, unknown, unknown>, options?: CallOptions): Promise<A>;
  delete<A>(path: string, codec: t.Type<A, unknown, unknown>, options?: CallOptions): Promise<A>;
  /** An answer of any length, piece by piece. */
  getPieces(path: string, options?: CallOptions): Promise<AsyncIterable<Uint8Array>>;
  /** A body of any length, piece by piece. */
  upload<A>(
    path: string,
    body: { readonly type: string; readonly content: Readable },
    codec: t.Type<A, unknown, unknown>,
  ): Promise<A>;
  /** Live events; ends when the service ends the stream. Go on later with the last `id`. */
  events(
    path: string,
    options?: CallOptions & { readonly lastEventId?: string },
  ): AsyncIterable<ReceivedEvent>;
  close(): Promise<void>;
}

const attempts = 3;
/** Shorter ones stand in ordinary words. */
const minTokenLength = 16;
const answerLimit = 32 * 1024 * 1024;
/** Milliseconds for an answer to an upload, which may be long work. */
const uploadMs = 600_000;
/** Milliseconds between two pieces of a stream of events, which says every 15 s that it is there. */
const eventsIdleMs = 60_000;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { baseUrl, token, timeoutMs = 30_000 } = options;
  const agents = new Map<string, Agent>();
  /** The token of the last request: an answerer may echo it, and what it says is shown to people. */
  let sentToken: string | undefined;

  function target(path: string): URL {
    return new URL(path, typeof baseUrl === 'string' ? baseUrl : baseUrl());
  }

  async function send(
    url: URL,
    request: Partial<Exchange> & Pick<Exchange, 'method'>,
  ): Promise<IncomingMessage> {
    if (token !== undefined) sentToken = typeof token === 'string' ? token : token();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${sentToken}` };
    const headers = { ...authorization, ...request.headers };
    const agent = agents.get(url.protocol) ?? openAgent(url.href);
    agents.set(url.protocol, agent);
    return exchange(url, { idleMs: timeoutMs, ...request, headers, agent });
  }

  async function call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: unknown,
    call: CallOptions,
  ): Promise<Buffer> {
    const url = target(path);
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal]);
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    try {
      const answer = await send(url, {
        method,
        signal,
        headers: { ...json, ...call.headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return await readAnswer(answer, sentToken);
    } catch (error) {
      throw explained(error, `${method} ${url.href}`, call.signal, limit);
    }
  }

  async function get(path: string, options: CallOptions): Promise<Buffer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await call('GET', path, undefined, options);
      } catch (error) {
        if (attempt === attempts || !(error instanceof Unavailable) || error instanceof TimedOut) throw error;
        const wait = Math.min((error.retryAfter ?? 0.1 * 2 ** attempt) * 1000, 5_000);
        await setTimeout(wait, undefined, options.signal === undefined ? {} : { signal: options.signal });
      }
    }
  }

  return {
    async get(path, codec, options = {}) {
      const headers = { accept: 'application/json', ...options.headers };
      return decodeAnswer(codec, await get(path, { ...options, headers }), `GET ${path}`, sentToken);
    },
    getBytes: (path, options = {}) => get(path, options),
    async post(path, body, codec, options = {}) {
      return decodeAnswer(codec, await call('POST', path, body, options), `POST ${path}`, sentToken);
    },
    async delete(path, codec, options = {}) {
      const answer = await call('DELETE', path, undefined, options);
      return decodeAnswer(codec, answer, `DELETE ${path}`, sentToken);
    },
    async getPieces(path, { signal } = {}) {
      const url = target(path);
      try {
        const answer = await send(url, { method: 'GET', signal });
        if (answer.statusCode !== 200) await readAnswer(answer, sentToken);
        return answer;
      } catch (error) {
        throw explained(error, `GET ${url.href}`, signal);
      }
    },
    async upload(path, { type, content }, codec) {
      const url = target(path);
      const what = `POST ${url.href}`;
      const headers = { 'content-type': type };
      try {
        const answer = await send(url, { method: 'POST', headers, body: content, idleMs: uploadMs });
        return decodeAnswer(codec, await readAnswer(answer, sentToken), what, sentToken);
      } catch (error) {
        throw explained(error, what);
      }
    },
    async *events(path, { signal, lastEventId } = {}) {
      const url = target(path);
      const last = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      const headers = { accept: 'text/event-stream', ...last };
      try {
        const answer = await send(url, { method: 'GET', headers, signal, idleMs: eventsIdleMs });
        if (answer.statusCode !== 200) await readAnswer(answer, sentToken);
        for await (const event of readEvents(answer))
          yield { ...event, data: withoutToken(event.data, sentToken) };
      } catch (error) {
        throw explained(error, `GET ${url.href}`, signal);
      }
    },
    close: async () => {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

async function readAnswer(answer: IncomingMessage, token: string | undefined): Promise<Buffer> {
  const { statusCode = 0, headers } = answer;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += chunk.length;
    if (size > answerLimit)
      throw new Failed('answer_too_large', `the answer has more than ${answerLimit} bytes`);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (statusCode >= 200 && statusCode < 300) return bytes;
  const redactor = new Redactor();
  if (token !== undefined) redactor.addSecret(token);
  const problem = redactor.redactDeep(problemIn(bytes));
  throw errorOfProblem(statusCode, problem, retryAfterSeconds(headers['retry-after']) ?? undefined);
}

function problemIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}

function decodeAnswer<A>(
  codec: t.Type<A, unknown, unknown>,
  bytes: Buffer,
  what: string,
  token: string | undefined,
): A {
  const text = withoutToken(bytes.toString('utf8'), token);
  return decode(codec, parseJson(text, `answer to ${what}`), `answer to ${what}`, 'answer_invalid');
}

function withoutToken(text: string, token: string | undefined): string {
  return token === undefined || token.length < minTokenLength ? text : text.replaceAll(token, '[redacted]');
}

function explained(error: unknown, what: string, given?: AbortSignal, limit?: AbortSignal): unknown {
  if (error instanceof CoreError) return error;
  if (given?.aborted) return new Interrupted('interrupted', `${what} was stopped`, { cause: error });
  if (limit?.aborted || error instanceof TooLate) {
    return new TimedOut('http_timeout', `${what} did not answer in time`, { cause: error });
  }
  return new Unavailable('http_unavailable', `${what} failed: ${messageOf(error) || codeOf(error)}`, {
    cause: error,
  });
}
