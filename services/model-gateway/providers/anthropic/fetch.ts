import type { Connections } from '#kit/http/client.ts';
import type { Progress } from '../failure.ts';
import { Redirected, UnexpectedAnswer } from './failures.ts';

interface FetchOptions {
  readonly connections: Connections;
  /** null sends none. */
  readonly credential: string | null;
  /** Is kept up to date. */
  readonly progress: { stage: Progress };
  readonly via: string | undefined;
}

/** The provider's way to the network: our connections, no redirects, and the credential put in at the last moment. */
export function anthropicFetch(options: FetchOptions): typeof globalThis.fetch {
  const { connections, credential, progress, via } = options;
  return async (url, init = {}) => {
    const headers = new Headers(init.headers);
    if (credential !== null) headers.set('x-api-key', credential);
    headers.set('accept-encoding', 'identity');
    if (via !== undefined) headers.set('via', via);
    const onSent = () => {
      progress.stage = 'sent';
    };
    const request = { ...init, headers: [...headers], onSent } as Parameters<Connections['fetch']>[1];
    const response = (await connections.fetch(String(url), request)) as unknown as Response;
    if (response.ok) progress.stage = 'begun';
    const type = response.headers.get('content-type') ?? '';
    const problem = problemOf(response, type);
    if (problem === null) return await bounded(response, type || usualType(init.body));
    await response.body?.cancel();
    throw problem;
  };
}

function problemOf({ status, ok }: Response, type: string): UnexpectedAnswer | null {
  if (status > 599) return new UnexpectedAnswer(`answered ${status}, which is no status of HTTP`);
  if (status >= 300 && status < 400) return new Redirected(status);
  if (!ok || type === '' || /\b(json|event-stream)\b/i.test(type)) return null;
  return new UnexpectedAnswer(`answered ${status} with ${type}, which is no answer of a model`);
}

/** The type of an answer that names none. */
function usualType(request: unknown): string {
  const isStream = typeof request === 'string' && /"stream":true/.test(request);
  return isStream ? 'text/event-stream' : 'application/json';
}

async function bounded(response: Response, type: string): Promise<Response> {
  const what = !response.ok ? 'an error' : /\bevent-stream\b/i.test(type) ? 'an event' : 'an answer';
  const body = response.body?.pipeThrough(limitOf(what)) ?? null;
  return what === 'an answer'
    ? new Response(withoutNews(await new Response(body).text()), response)
    : new Response(body, response);
}

const maxError = 64 * 1024;
const maxAnswer = 16 * 1024 * 1024;

/**
 * Ends an answer with an error where it has too many bytes, counted after its decompression: the provider holds whole answers,
 * whole errors and whole events in memory. A stream may have any number of events.
 */
function limitOf(what: 'an error' | 'an answer' | 'an event'): TransformStream<Uint8Array, Uint8Array> {
  const limit = what === 'an error' ? maxError : maxAnswer;
  let size = 0;
  /** The end of the last piece, where the empty line after an event may begin. */
  let before = Buffer.alloc(0);
  return new TransformStream({
    transform(piece, controller) {
      size += piece.length;
      if (what === 'an event') {
        const seen = Buffer.concat([before, piece]);
        const end = Math.max(seen.lastIndexOf('\n\n'), seen.lastIndexOf('\n\r\n'));
        if (end !== -1) size = seen.length - end;
        before = seen.subarray(-2);
      }
      if (size > limit) throw new UnexpectedAnswer(`sent ${what} of more than ${limit} bytes`);
      controller.enqueue(piece);
    },
  });
}

/** Kinds of events, of blocks of content and of deltas that the provider reads and a client of OpenAI's interface may need. */
const known = new Set([
  ...['message_start', 'message_delta', 'message_stop', 'ping', 'error'],
  ...['content_block_start', 'content_block_delta', 'content_block_stop'],
  ...['text', 'tool_use', 'thinking', 'redacted_thinking'],
  ...['text_delta', 'input_json_delta', 'thinking_delta', 'signature_delta'],
  ...['citations_delta', 'compaction_delta'],
]);

interface Kind {
  readonly type?: unknown;
}

/**
 * Whether the provider stumbled over a kind of event that it does not know. Anthropic adds kinds, and clients have to go on
 * without them. Source: docs.claude.com, "Versioning" and "Streaming messages".
 */
export function isNews(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'AI_TypeValidationError' || !('value' in error))
    return false;
  const event = error.value as (Kind & { readonly delta?: Kind; readonly content_block?: Kind }) | null;
  return [event, event?.delta, event?.content_block].some(isNew);
}

/** A whole answer without content of such kinds. What is no such answer stays as it is. */
function withoutNews(text: string): string {
  let answer: { readonly content?: unknown };
  try {
    answer = JSON.parse(text);
  } catch {
    return text;
  }
  const content = answer?.content;
  if (!Array.isArray(content) || !content.some(isNew)) return text;
  return JSON.stringify({ ...answer, content: content.filter((block) => !isNew(block)) });
}

function isNew(one: Kind | null | undefined): boolean {
  return typeof one?.type === 'string' && !known.has(one.type);
}
