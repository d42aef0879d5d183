import type { Dispatcher, RequestInit, Response } from 'undici';
import type { Progress } from '../connection-failure.ts';
import { boundedBody } from './bounded-body.ts';
import { Redirected, UnexpectedAnswer } from './failures.ts';
import { withoutNews } from './stream-news.ts';

/** How far one request has come. */
export interface RequestProgress {
  stage: Progress;
  /** When bytes came last, by the monotonic clock. */
  heardAt: number;
}

export interface FetchOptions {
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  /** null sends none. */
  readonly credential: string | null;
  /** Is kept up to date. */
  readonly progress: RequestProgress;
  readonly via: string | undefined;
}

/** The provider's way to the network: our connections, no redirects, and the credential put in at the last moment. */
export function anthropicFetch(options: FetchOptions): typeof globalThis.fetch {
  const { credential, progress, via } = options;
  async function send(url: unknown, init: unknown = {}): Promise<unknown> {
    const { fetch, Headers } = await import('undici');
    const given = init as RequestInit;
    const headers = new Headers(given.headers);
    if (credential !== null) headers.set('x-api-key', credential);
    headers.set('accept-encoding', 'identity');
    if (via !== undefined) headers.set('via', via);
    const dispatcher = watched(options);
    const response = await fetch(String(url), { ...given, headers, dispatcher, redirect: 'manual' });
    progress.heardAt = performance.now();
    if (response.ok) progress.stage = 'begun';
    const type = response.headers.get('content-type') ?? '';
    const problem = problemOf(response, type);
    if (problem === null) return await bounded(response, type, progress);
    await response.body?.cancel();
    throw problem;
  }
  return send as typeof globalThis.fetch;
}

function problemOf({ status, ok }: Response, type: string): UnexpectedAnswer | null {
  if (status > 599) return new UnexpectedAnswer(`answered ${status}, which is no status of HTTP`);
  if (status >= 300 && status < 400) return new Redirected(status);
  if (!ok || /\b(json|event-stream)\b/i.test(type)) return null;
  const what = type === '' ? 'no content type' : type.slice(0, 100);
  return new UnexpectedAnswer(`answered ${status} with ${what}, which is no answer of a model`);
}

/** Notes when a connection is there and the request goes out on it. */
function watched({ dispatcher, progress }: FetchOptions): Dispatcher {
  const dispatch: Dispatcher['dispatch'] = (options, handler) => {
    const connected = handler.onConnect;
    handler.onConnect = (abort) => {
      progress.stage = 'sent';
      connected?.call(handler, abort);
    };
    return dispatcher.dispatch(options, handler);
  };
  return { dispatch } as Dispatcher;
}

async function bounded(response: Response, type: string, progress: RequestProgress): Promise<Response> {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const { Response } = await import('undici');
  const kind = !response.ok ? 'error' : /\bevent-stream\b/i.test(type) ? 'stream' : 'whole';
  const heard = () => {
    progress.heardAt = performance.now();
  };
  const read = new Response(boundedBody(body as never, kind, heard) as never, {
    status,
    statusText,
    headers,
  });
  return kind === 'whole'
    ? new Response(withoutNews(await read.text()), { status, statusText, headers })
    : read;
}
