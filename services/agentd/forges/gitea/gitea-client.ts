import { InvalidInput, NotFound, Unauthorized } from '#kit/errors.ts';
import type { Call, RemoteForgeOptions } from '../configured-forge.ts';
import { faultOf } from '../faults.ts';
import { type HttpReply, send, sendRead } from '../http.ts';
import { pagesOf } from '../pages.ts';
import type { TokenFile } from '../token-file.ts';

export interface GiteaReply {
  readonly data: unknown;
  readonly header: (name: string) => string | null;
}

type Query = Readonly<Record<string, string | number>>;

/** Gitea's REST API v1: reads are tried again, writes never; every answer that is no success is one of our errors. */
export class GiteaClient {
  readonly #options: RemoteForgeOptions;
  readonly #token: TokenFile;

  constructor(options: RemoteForgeOptions, token: TokenFile) {
    this.#options = options;
    this.#token = token;
  }

  /**
   * @param parts of the path below `/api/v1`; a part that is a branch name keeps its slashes
   */
  async get(parts: readonly string[], { what, signal }: Call, query: Query = {}): Promise<GiteaReply> {
    const request = { ...(await this.#request('GET', parts, query, signal)), method: 'GET' as const };
    const reply = await sendRead(request, { times: 2, base_ms: this.#options.retry_ms });
    return this.#answer('GET', what, reply);
  }

  /** The entries of a list, page by page, until `enough` says so or there are no more. */
  async *entries(parts: readonly string[], call: Call, query: Query): AsyncGenerator<unknown> {
    for (const page of pagesOf(this.#options.name, call.what)) {
      const { data, header } = await this.get(parts, call, { ...query, page, limit: 50 });
      if (!Array.isArray(data)) {
        yield data;
        return;
      }
      yield* data;
      // A server may be set to smaller pages than we ask for, so that only the link tells the last one.
      if (data.length === 0 || !/\brel="?next"?/.test(header('link') ?? '')) return;
    }
  }

  /** What the forge answers, also that there is no such thing, or that it does not let us ask. */
  async tried(parts: readonly string[], call: Call): Promise<GiteaReply | NotFound | Unauthorized> {
    try {
      return await this.get(parts, call);
    } catch (error) {
      if (error instanceof NotFound || error instanceof Unauthorized) return error;
      throw error;
    }
  }

  async write(
    method: 'POST' | 'PATCH' | 'DELETE',
    parts: readonly string[],
    { what, signal }: Call,
    body?: unknown,
  ): Promise<GiteaReply> {
    return this.#answer(method, what, await send(await this.#request(method, parts, {}, signal, body)));
  }

  async #request(
    method: string,
    parts: readonly string[],
    query: Query,
    signal: AbortSignal | undefined,
    body?: unknown,
  ): Promise<Parameters<typeof send>[0]> {
    const token = await this.#token.read();
    const path = parts
      .flatMap((part) => part.split('/'))
      .map(encodeURIComponent)
      .join('/');
    const search = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) search.set(key, String(value));
    const url = `${this.#options.base_url.replace(/\/$/, '')}/api/v1/${path}${search.size > 0 ? `?${search}` : ''}`;
    return {
      forge: this.#options.name,
      method,
      url,
      headers: {
        accept: 'application/json',
        'user-agent': 'core-platform',
        ...(token === null ? {} : { authorization: `token ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
      timeout_ms: this.#options.timeout_ms,
    };
  }

  #answer(method: string, what: string, reply: HttpReply): GiteaReply {
    const header = (name: string): string | null => reply.headers.get(name);
    if (reply.status >= 300) {
      const words = wordsOf(reply.text);
      throw faultOf({
        forge: this.#options.name,
        method,
        what,
        status: reply.status,
        url: reply.url,
        header,
        words,
        token_file: this.#token.path,
        lacking_scopes: /required scope\(s\), required=\[([a-z:, ]+)\]/.exec(words)?.[1] ?? null,
      });
    }
    if (reply.text === '') return { data: null, header };
    return { data: this.#parse(reply.text, what), header };
  }

  #parse(text: string, what: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new InvalidInput(
        'forge_reply_invalid',
        `answer of forge '${this.#options.name}' about ${what} is not JSON`,
        { cause },
      );
    }
  }
}

function wordsOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' ? message : '';
  } catch {
    return '';
  }
}
