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
    if (problem === null) return await bounded(response, type);
    await response.body?.cancel();
    throw problem;
  };
}

function problemOf({ status, ok }: Response, type: string): UnexpectedAnswer | null {
  if (status > 599) return new UnexpectedAnswer(`answered ${status}, which is no status of HTTP`);
  if (status >= 300 && status < 400) return new Redirected(status);
  if (!ok || /\b(json|event-stream)\b/i.test(type)) return null;
  const what = type === '' ? 'no content type' : type;
  return new UnexpectedAnswer(`answered ${status} with ${what}, which is no answer of a model`);
}

async function bounded(response: Response, type: string): Promise<Response> {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const head = { status, statusText, headers };
  const kind = !response.ok ? 'error' : /\bevent-stream\b/i.test(type) ? 'stream' : 'whole';
  const read = new Response(boundedBody(body as never, kind) as never, head);
  return kind === 'whole' ? new Response(withoutNews(await read.text()), head) : read;
}

const maxError = 64 * 1024;
const maxAnswer = 16 * 1024 * 1024;
const newline = 0x0a;

/**
 * An answer that ends with an error where it has too many bytes, counted after its decompression: the provider holds whole
 * answers, whole errors and whole events in memory. A stream may have any number of events.
 */
function boundedBody(body: ReadableStream, kind: 'error' | 'whole' | 'stream'): ReadableStream {
  const limit = kind === 'error' ? maxError : maxAnswer;
  let size = 0;
  let lineIsEmpty = true;
  return body.pipeThrough(
    new TransformStream({
      transform(piece: Uint8Array, controller) {
        size += piece.length;
        if (kind === 'stream') {
          const end = lastEventEnd(piece, lineIsEmpty);
          if (end !== null) size = piece.length - end;
          lineIsEmpty = piece.at(-1) === newline;
        }
        if (size <= limit) return controller.enqueue(piece);
        const what = kind === 'stream' ? 'an event' : kind === 'whole' ? 'an answer' : 'an error';
        throw new UnexpectedAnswer(`sent ${what} of more than ${limit} bytes`);
      },
    }),
  );
}

/** Past the last empty line; a carriage return counts as nothing. */
function lastEventEnd(piece: Uint8Array, lineIsEmpty: boolean): number | null {
  for (
    let at = piece.lastIndexOf(newline);
    at !== -1;
    at = at === 0 ? -1 : piece.lastIndexOf(newline, at - 1)
  ) {
    let before = at - 1;
    if (piece[before] === 0x0d) before--;
    if (before < 0 ? lineIsEmpty : piece[before] === newline) return at + 1;
  }
  return null;
}

const knownEvents = new Set([
  'message_start',
  'message_delta',
  'message_stop',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'ping',
  'error',
]);

const knownDeltas = new Set([
  'text_delta',
  'input_json_delta',
  'thinking_delta',
  'signature_delta',
  'citations_delta',
  'compaction_delta',
]);

/** Kinds of content that a client of OpenAI's interface is given, or that come before it. */
const knownBlocks = new Set(['text', 'tool_use', 'thinking', 'redacted_thinking']);

/**
 * Whether the provider stumbled over a kind of event that it does not know. Anthropic adds kinds, and clients have to go on
 * without them. Source: docs.claude.com, "Versioning" and "Streaming messages".
 */
export function isNews(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'AI_TypeValidationError' || !('value' in error))
    return false;
  const { type, delta, content_block } = (error.value ?? {}) as Partial<Record<string, Kind>> & {
    type?: unknown;
  };
  if (typeof type !== 'string') return false;
  if (!knownEvents.has(type)) return true;
  if (type === 'content_block_start') return isNewBlock(content_block);
  const deltaType = delta?.type;
  return type === 'content_block_delta' && typeof deltaType === 'string' && !knownDeltas.has(deltaType);
}

interface Kind {
  readonly type?: unknown;
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
  if (!Array.isArray(content) || !content.some(isNewBlock)) return text;
  return JSON.stringify({ ...answer, content: content.filter((block) => !isNewBlock(block)) });
}

function isNewBlock(block: Kind | undefined): boolean {
  return typeof block?.type === 'string' && !knownBlocks.has(block.type);
}
