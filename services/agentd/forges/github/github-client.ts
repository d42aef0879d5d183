import type { Octokit } from 'octokit';
import type { BodyInit } from 'undici';
import { guarded } from '#kit/callbacks.ts';
import { CoreError, Interrupted, messageOf, Unavailable } from '#kit/errors.ts';
import type { Permit } from '#kit/permit.ts';
import type { Call, Query, RemoteClient, RemoteForgeOptions, RemoteReply } from '../configured-forge.ts';
import { faultOf } from '../faults.ts';
import { KnownReplies, readAgain, send } from '../http.ts';
import type { TokenFile } from '../token-file.ts';

export interface GitHubOptions extends RemoteForgeOptions {
  /** Keeps the pauses between writes that GitHub asks for. Off only for servers without rate limits. */
  readonly throttle: boolean;
}

export class GitHubClient implements RemoteClient {
  readonly pageSize = { per_page: 100 };
  readonly #options: GitHubOptions;
  readonly #token: TokenFile;
  readonly #known = new KnownReplies();
  #octokit: Promise<Octokit> | undefined;

  constructor(options: GitHubOptions, token: TokenFile) {
    this.#options = options;
    this.#token = token;
  }

  get(path: readonly string[], call: Call, query: Query = {}): Promise<RemoteReply> {
    return readAgain(this.#options, call.signal, () => this.#request('GET', path, call, query));
  }

  write(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: readonly string[],
    call: Call,
    body: Readonly<Record<string, unknown>> = {},
  ): Promise<RemoteReply> {
    return this.#request(method, path, call, body);
  }

  async #request(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: readonly string[],
    { what, signal, permit }: Call,
    parameters: Readonly<Record<string, unknown>>,
  ): Promise<RemoteReply> {
    if (signal?.aborted) throw this.#cancelled(signal);
    const token = await this.#token.read();
    this.#octokit ??= this.#open();
    const octokit = await this.#octokit;
    const answer = octokit.request({
      ...parameters,
      method,
      url: `/${path.map(encodeURIComponent).join('/')}`,
      headers: {
        'x-github-api-version': '2022-11-28',
        ...(token === null ? {} : { authorization: `token ${token}` }),
      },
      request: {
        ...(signal === undefined ? {} : { signal }),
        ...(permit === undefined
          ? {}
          : { fetch: (url: string, init: FetchInit) => this.#fetch(url, init, permit) }),
      },
    });
    try {
      const reply = await (method === 'GET' ? this.#orCancelled(answer, signal) : answer);
      if (reply.status >= 300) throw this.#fault(method, what, reply.status, reply);
      return { data: reply.data, header: headerOf(reply) };
    } catch (error) {
      throw this.#errorOf(error, method, what);
    }
  }

  async #open(): Promise<Octokit> {
    // Loaded on first use: the command line starts faster without it.
    const { Octokit } = await import('octokit');
    const { name, throttle } = this.#options;
    // `readAgain` waits for reads; a write is never sent twice.
    const never = (): boolean => false;
    return new Octokit({
      baseUrl: apiUrl(this.#options.base_url),
      userAgent: 'core-platform',
      request: { fetch: (url: string, init: FetchInit) => this.#fetch(url, init) },
      log: { debug() {}, info() {}, warn() {}, error() {} },
      retry: { enabled: false },
      throttle: { enabled: throttle, id: name, onRateLimit: never, onSecondaryRateLimit: never },
    });
  }

  async #fetch(url: string, init: FetchInit, permit?: Permit): Promise<Response> {
    const request = {
      forge: this.#options.name,
      method: init.method,
      url,
      headers: init.headers,
      body: init.body ?? null,
      signal: init.signal,
      permit,
      timeout_ms: this.#options.timeout_ms,
    };
    try {
      const reply = await (init.method === 'GET' ? this.#known.send(request) : send(request));
      const bodiless = reply.status === 204 || reply.status === 205 || reply.status === 304;
      const headers = new Headers([...reply.headers]);
      // The text is decoded already.
      for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) headers.delete(name);
      return new Response(bodiless ? null : reply.text, {
        status: reply.status,
        headers: Object.fromEntries(headers),
      });
    } catch (error) {
      throw error instanceof Unavailable ? error : new NotWorthRetrying(error);
    }
  }

  #errorOf(error: unknown, method: string, what: string): unknown {
    if (error instanceof CoreError) return error;
    if (error instanceof NotWorthRetrying) return error.cause;
    if (!(error instanceof Error)) return error;
    if (error.cause instanceof CoreError) return error.cause;
    const { status, response } = error as Error & { status?: number; response?: FailedReply };
    if (status !== undefined && response !== undefined) return this.#fault(method, what, status, response);
    return new Unavailable(
      'forge_unavailable',
      `asking forge '${this.#options.name}' failed: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }

  #fault(method: string, what: string, status: number, reply: FailedReply): CoreError {
    return faultOf({
      forge: this.#options.name,
      method,
      what,
      status,
      url: reply.url ?? '',
      header: headerOf(reply),
      words: wordsOf(reply.data),
      token_file: this.#token.path,
      lacking_scopes: null,
    });
  }

  /** Octokit's pauses between two tries ignore the signal. */
  async #orCancelled<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (signal === undefined) return answer;
    const cancelled = Promise.withResolvers<never>();
    const stop = guarded('a request to a forge', (): void => cancelled.reject(this.#cancelled(signal)));
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([answer, cancelled.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  #cancelled(signal: AbortSignal): Interrupted {
    return new Interrupted('interrupted', `asking forge '${this.#options.name}' was cancelled`, {
      cause: signal.reason,
    });
  }
}

/** Octokit passes errors of this name on as they are. */
class NotWorthRetrying extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = 'AbortError';
  }
}

interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: BodyInit;
  readonly signal?: AbortSignal;
}

interface FailedReply {
  readonly url?: string;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  readonly data: unknown;
}

function headerOf({ headers }: Pick<FailedReply, 'headers'>) {
  return (name: string): string | null => (headers[name] === undefined ? null : String(headers[name]));
}

/** github.com and GitHub Enterprise Cloud have a host of their own for the API, Enterprise Server a path. */
export function apiUrl(baseUrl: string): string {
  const { protocol, host, pathname } = new URL(baseUrl);
  if (host === 'github.com' || host.endsWith('.ghe.com')) return `${protocol}//api.${host}`;
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}/api/v3`;
}

/** GitHub says what is wrong in `message`, and where in `errors`. */
function wordsOf(data: unknown): string {
  if (typeof data !== 'object' || data === null) return '';
  const { message, errors } = data as { message?: unknown; errors?: unknown };
  const details = Array.isArray(errors)
    ? errors.map((entry: unknown) =>
        typeof entry === 'object' && entry !== null && 'message' in entry
          ? String(entry.message)
          : JSON.stringify(entry),
      )
    : [];
  return [typeof message === 'string' ? message : '', ...details].filter((text) => text !== '').join('; ');
}
