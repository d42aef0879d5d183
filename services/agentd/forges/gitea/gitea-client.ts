import { InvalidInput } from '#kit/errors.ts';
import type { Call, Query, RemoteClient, RemoteForgeOptions, RemoteReply } from '../configured-forge.ts';
import { faultOf } from '../faults.ts';
import { type HttpReply, type HttpRequest, KnownReplies, readAgain, send } from '../http.ts';
import type { TokenFile } from '../token-file.ts';

export class GiteaClient implements RemoteClient {
  readonly pageSize = { limit: 50 };
  readonly #options: RemoteForgeOptions;
  readonly #token: TokenFile;
  readonly #known = new KnownReplies();

  constructor(options: RemoteForgeOptions, token: TokenFile) {
    this.#options = options;
    this.#token = token;
  }

  async get(path: readonly string[], call: Call, query: Query = {}): Promise<RemoteReply> {
    const request = await this.#request('GET', path, call, query);
    return readAgain(this.#options, call.signal, async () =>
      this.#answer('GET', call.what, await this.#known.send(request)),
    );
  }

  async write(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: readonly string[],
    call: Call,
    body?: Readonly<Record<string, unknown>>,
  ): Promise<RemoteReply> {
    return this.#answer(method, call.what, await send(await this.#request(method, path, call, {}, body)));
  }

  async #request(
    method: string,
    path: readonly string[],
    { signal, permit }: Call,
    query: Query,
    body?: Readonly<Record<string, unknown>>,
  ): Promise<HttpRequest> {
    const token = await this.#token.read();
    // A branch name keeps its slashes.
    const encoded = path.flatMap((part) => part.split('/')).map(encodeURIComponent);
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const base = this.#options.base_url.replace(/\/$/, '');
    return {
      forge: this.#options.name,
      method,
      url: `${base}/api/v1/${encoded.join('/')}${search.size > 0 ? `?${search}` : ''}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'core-platform',
        ...(token === null ? {} : { authorization: `token ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
      permit,
      timeout_ms: this.#options.timeout_ms,
    };
  }

  #answer(method: string, what: string, { status, headers, text, url }: HttpReply): RemoteReply {
    const header = (name: string): string | null => headers.get(name);
    if (status >= 300) {
      const words = wordsOf(text);
      throw faultOf({
        forge: this.#options.name,
        method,
        what,
        status,
        url,
        header,
        words,
        token_file: this.#token.path,
        lacking_scopes: /required scope\(s\), required=\[([a-z:, ]+)\]/.exec(words)?.[1] ?? null,
      });
    }
    try {
      return { data: text === '' ? null : JSON.parse(text), header };
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
