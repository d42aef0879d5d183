import { type Dispatcher, fetch, Headers, type RequestInit } from 'undici';
import { UnexpectedAnswer } from './anthropic-failure.ts';

export interface FetchOptions {
  readonly dispatcher: Dispatcher;
  /** null sends none. */
  readonly credential: string | null;
}

/** The provider's way to the network: our connections, no redirects, and the credential put in at the last moment. */
export function anthropicFetch({ dispatcher, credential }: FetchOptions): typeof globalThis.fetch {
  async function send(url: unknown, init: unknown = {}): Promise<unknown> {
    const given = init as RequestInit;
    const headers = new Headers(given.headers);
    if (credential !== null) headers.set('x-api-key', credential);
    const response = await fetch(String(url), {
      ...given,
      headers,
      dispatcher,
      redirect: 'manual',
    });
    const type = response.headers.get('content-type') ?? '';
    const problem =
      response.status >= 300 && response.status < 400
        ? `answered ${response.status}, a redirect; they are not followed, as credentials would go along`
        : response.ok && !/\b(json|event-stream)\b/i.test(type)
          ? `answered ${response.status} with ${type === '' ? 'no content type' : type.slice(0, 100)}, which is no answer of a model`
          : null;
    if (problem === null) return response;
    await response.body?.cancel();
    throw new UnexpectedAnswer(problem);
  }
  return send as typeof globalThis.fetch;
}
