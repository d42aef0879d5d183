import { setTimeout as sleep } from 'node:timers/promises';
import { type BodyInit, Headers, type Response } from 'undici';
import { sha256 } from '#kit/digest.ts';
import { environment } from '#kit/environment.ts';
import {
  CoreError,
  Interrupted,
  messageOf,
  RateLimited,
  Refused,
  TimedOut,
  TooLarge,
  Unavailable,
} from '#kit/errors.ts';
import { openConnections } from '#kit/http/client.ts';
import type { Permit } from '#kit/permit.ts';

export interface HttpRequest {
  readonly forge: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: BodyInit | null;
  /** Ends a read: a write that has left has to be waited for. */
  readonly signal?: AbortSignal | undefined;
  /** Required once there is a connection, right before the first byte. */
  readonly permit?: Permit | undefined;
  readonly timeout_ms: number;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of the answer, after redirects. */
  readonly url: string;
}

const replyLimit = 32 * 1024 * 1024;
const redirects = new Set([301, 302, 303, 307, 308]);

const connections = openConnections({ proxies: environment });

/**
 * One request with a time limit and a size limit. Redirects are followed for GET alone, on the same origin alone, so
 * that no token travels elsewhere and no write lands where nobody looked.
 * @throws TimedOut `forge_timeout`, Unavailable `forge_unavailable`, TooLarge `forge_reply_too_large`, Refused
 * `forge_redirected`, Interrupted `interrupted`, what `permit` throws
 */
export async function send(request: HttpRequest): Promise<HttpReply> {
  const { method, signal, timeout_ms } = request;
  if (signal?.aborted) throw cancelled(request);
  const limit = AbortSignal.timeout(timeout_ms);
  const either = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  try {
    let url = request.url;
    for (let hops = 0; ; hops++) {
      const response = await fetchOnce(request, url, either);
      const next = method === 'GET' && hops < 5 ? redirectTarget(request, url, response) : null;
      if (next === null) {
        const { status, headers } = response;
        return { status, headers, text: await readAll(request, response), url };
      }
      await response.body?.cancel();
      url = next;
    }
  } catch (error) {
    if (error instanceof CoreError) throw error;
    if (error instanceof Error && error.cause instanceof CoreError) throw error.cause;
    if (signal?.aborted) throw cancelled(request);
    if (limit.aborted) throw timedOut(request, error);
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Unavailable(
      'forge_unavailable',
      `forge '${request.forge}' cannot be reached at ${new URL(request.url).origin}: ${messageOf(reason)}`,
      { cause: error, facts: { method } },
    );
  }
}

/** Reads again after 5xx and broken connections this often. */
const readRetries = 2;

/**
 * Repeats a read that failed for a reason that may pass: twice after 5xx and broken connections, and after a rate limit when it has
 * ended. It waits as long as the forge asks, if that ends before the deadline of the read; otherwise the error says when to ask again.
 */
export async function readAgain<A>(
  { name, timeout_ms, retry_ms }: ReadTerms,
  signal: AbortSignal | undefined,
  read: () => Promise<A>,
  clock: ReadClock = machineClock,
): Promise<A> {
  const deadline = clock.now() + timeout_ms;
  for (let attempt = 0; ; attempt++) {
    let pause: number;
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Unavailable) || error instanceof TimedOut) throw error;
      if (!(error instanceof RateLimited) && attempt >= readRetries) throw error;
      pause = Math.max((error.retryAfter ?? 0) * 1000, retry_ms * (attempt + 1) ** 2);
      if (error.retryAfter !== undefined && clock.now() + pause >= deadline) throw error;
    }
    try {
      await clock.sleep(pause, signal);
    } catch {
      throw cancelled({ forge: name, signal });
    }
  }
}

interface ReadTerms {
  /** Of the forge. */
  readonly name: string;
  readonly timeout_ms: number;
  /** First pause; the second is four times as long. */
  readonly retry_ms: number;
}

/** In ms. */
interface ReadClock {
  now(): number;
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

const machineClock: ReadClock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/** Bytes of answers that are kept of one forge, at most. */
const keptBytes = 8 * 1024 * 1024;

/** The last answers of a forge that carry an ETag. To ask whether one still holds does not count against GitHub's rate limit. */
export class KnownReplies {
  readonly #replies = new Map<string, HttpReply & { readonly etag: string }>();
  #bytes = 0;

  /** `send` for GET: an answer that did not change comes from here, with the headers of now. */
  async send(request: HttpRequest): Promise<HttpReply> {
    const key = sha256(JSON.stringify([request.url, request.headers.authorization ?? null]));
    const known = this.#replies.get(key);
    const headers =
      known === undefined ? request.headers : { ...request.headers, 'if-none-match': known.etag };
    const reply = await send({ ...request, headers });
    if (known !== undefined && reply.status === 304) {
      const merged = new Headers([...known.headers]);
      for (const [name, value] of reply.headers) merged.set(name, value);
      return { ...known, headers: merged };
    }
    const etag = reply.status === 200 ? reply.headers.get('etag') : null;
    this.#forget(key);
    if (etag !== null && reply.text.length <= keptBytes / 8) this.#keep(key, { ...reply, etag });
    return reply;
  }

  #keep(key: string, reply: HttpReply & { readonly etag: string }): void {
    this.#replies.set(key, reply);
    this.#bytes += reply.text.length;
    for (const oldest of this.#replies.keys()) {
      if (this.#bytes <= keptBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#replies.get(key)?.text.length ?? 0;
    this.#replies.delete(key);
  }
}

async function fetchOnce(request: HttpRequest, url: string, signal: AbortSignal): Promise<Response> {
  return connections.fetch(url, {
    method: request.method,
    headers: request.headers,
    body: request.body ?? null,
    signal,
    ...(request.permit === undefined ? {} : { onSent: request.permit.require }),
  });
}

function redirectTarget(request: HttpRequest, from: string, response: Response): string | null {
  const location = response.headers.get('location');
  if (!redirects.has(response.status) || location === null) return null;
  const target = new URL(location, from);
  if (target.origin === new URL(from).origin) return target.href;
  throw new Refused(
    'forge_redirected',
    `forge '${request.forge}' sends us on to ${target.origin}, which is another host; that is not followed`,
    { hint: 'correct base_url in config/forges.json' },
  );
}

async function readAll(request: HttpRequest, response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > replyLimit) {
      throw new TooLarge(
        'forge_reply_too_large',
        `a reply of forge '${request.forge}' is longer than ${replyLimit} bytes`,
        { facts: { limit: replyLimit } },
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function timedOut(request: HttpRequest, cause: unknown): TimedOut {
  const unknown = request.method === 'GET' ? '' : '; whether it did what was asked is not known';
  return new TimedOut(
    'forge_timeout',
    `a ${request.method} request to forge '${request.forge}' did not answer within ${request.timeout_ms / 1000} s${unknown}`,
    { cause, facts: { method: request.method } },
  );
}

function cancelled(request: Pick<HttpRequest, 'forge' | 'signal'>): Interrupted {
  return new Interrupted('interrupted', `asking forge '${request.forge}' was cancelled`, {
    cause: request.signal?.reason,
  });
}

/** Of 50 or 100 entries each, as a rule. */
const maxPages = 1_000;

/** Numbers of the pages of a list, from 1. @throws Refused (`forge_reply_endless`) after more pages than a real list has */
export function* pagesOf(forge: string, what: string): Generator<number> {
  for (let page = 1; page <= maxPages; page++) yield page;
  throw new Refused(
    'forge_reply_endless',
    `forge '${forge}' gives more than ${maxPages} pages of ${what}, which are not read further`,
    { facts: { limit: maxPages } },
  );
}
