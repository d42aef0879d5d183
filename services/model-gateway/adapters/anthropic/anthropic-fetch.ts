import { type Dispatcher, fetch, Headers, type RequestInit, Response } from 'undici';
import { UnexpectedAnswer } from './anthropic-failure.ts';
import { boundedBody } from './bounded-body.ts';

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
    headers.set('accept-encoding', 'identity');
    const response = await fetch(String(url), {
      ...given,
      headers,
      dispatcher,
      redirect: 'manual',
    });
    const type = response.headers.get('content-type') ?? '';
    const problem =
      response.status > 599
        ? `answered ${response.status}, which is no status of HTTP`
        : response.status >= 300 && response.status < 400
          ? `answered ${response.status}, a redirect; they are not followed, as credentials would go along`
          : response.ok && !/\b(json|event-stream)\b/i.test(type)
            ? `answered ${response.status} with ${type === '' ? 'no content type' : type.slice(0, 100)}, which is no answer of a model`
            : null;
    if (problem === null) return bounded(response, type);
    await response.body?.cancel();
    throw new UnexpectedAnswer(problem);
  }
  return send as typeof globalThis.fetch;
}

function bounded(response: Response, type: string): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const kind = !response.ok ? 'error' : /\bevent-stream\b/i.test(type) ? 'stream' : 'whole';
  return new Response(boundedBody(body as never, kind) as never, { status, statusText, headers });
}
