import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { providerHeader } from '#kit/contracts/model-gateway/provider-header.ts';
import { decode } from '#kit/decode.ts';
import {
  CoreError,
  codeOf,
  Failed,
  Interrupted,
  messageOf,
  Refused,
  TimedOut,
  Unavailable,
} from '#kit/errors.ts';
import { type Connections, openConnections } from '#kit/http/client.ts';
import { retryAfterSeconds } from '#kit/http/retry-after.ts';
import type { Model, ModelEvent, ModelRequest } from '../planning/model.ts';
import {
  Answer,
  ChatCompletion,
  countedTokens,
  errorWords,
  estimatedTokens,
  priced,
  type TokenPrice,
} from './chat-completion.ts';

export interface OpenAiCompatibleOptions {
  /** Up to and with `/v1`. */
  readonly base_url: string;
  /** Asked before each call; null where the endpoint wants no key. */
  readonly credential: (() => Promise<string>) | null;
  readonly model: string;
  readonly tier: string;
  readonly price: TokenPrice | null;
  readonly limits?: Partial<ModelLimits>;
}

const defaultLimits = {
  connect_ms: 10_000,
  /** Until the answer begins, and between two pieces of it. */
  idle_ms: 120_000,
  total_ms: 600_000,
  answer_bytes: 16 * 1024 * 1024,
};
type ModelLimits = typeof defaultLimits;
const maxErrorBody = 64 * 1024;
const maxExcerpt = 500;

/**
 * A model behind any endpoint that speaks OpenAI's chat completions, streaming where the endpoint does.
 * Redirects are not followed, so that the key goes to the configured address and nowhere else.
 *
 * The package `openai` (7.57) was tried in its place: limits, the joining of tool calls and the words of errors stay around it, whole
 * answers to a streamed request come out empty, and loading it takes 0.33 s of processor time against 5 ms for the parser of events.
 */
export function openAiCompatibleModel(options: OpenAiCompatibleOptions): Model {
  const limits = { ...defaultLimits, ...options.limits };
  const connections = openConnections({ connectMs: limits.connect_ms, idleMs: limits.idle_ms });
  const { model, tier } = options;
  return {
    model,
    tier,
    complete: (request, signal) => complete(request, signal, { ...options, limits, connections }),
  };
}

interface Endpoint extends OpenAiCompatibleOptions {
  readonly limits: ModelLimits;
  readonly connections: Connections;
}

async function* complete(
  request: ModelRequest,
  signal: AbortSignal,
  endpoint: Endpoint,
): AsyncIterable<ModelEvent> {
  const { limits, base_url } = endpoint;
  const credential = (await endpoint.credential?.()) ?? null;
  const total = AbortSignal.timeout(limits.total_ms);
  try {
    if (signal.aborted) throw interruption(signal);
    yield* exchange(request, credential, AbortSignal.any([signal, total]), endpoint);
  } catch (error) {
    if (signal.aborted) throw interruption(signal);
    if (total.aborted) throw timedOut('total', limits.total_ms);
    if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(codeOf(error))) throw timedOut('idle', limits.idle_ms);
    throw problemOf(error, base_url, credential);
  }
}

async function* exchange(
  { messages, tools, max_tokens }: ModelRequest,
  credential: string | null,
  signal: AbortSignal,
  { limits, connections, base_url, model, price }: Endpoint,
): AsyncIterable<ModelEvent> {
  const body = JSON.stringify({
    model,
    messages,
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    max_tokens,
    stream: true,
    stream_options: { include_usage: true },
  });
  const reply = await connections.request(`${base_url.replace(/\/+$/, '')}/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      ...(credential !== null && { authorization: `Bearer ${credential}` }),
    },
    body,
    signal,
  });
  if (reply.statusCode < 200 || reply.statusCode > 299) {
    throw endpointError(reply, await textOf(reply.body, maxErrorBody), base_url, credential);
  }
  const answer = new Answer();
  const provider = [reply.headers[providerHeader]].flat()[0] ?? new URL(base_url).host;
  const type = String(reply.headers['content-type'] ?? '');
  const { pieces, isStream } = await withForm(reply.body, type);
  for await (const chunk of isStream ? chunksOfStream(pieces, limits) : wholeAnswer(pieces, limits)) {
    const text = answer.add(chunk);
    if (text !== '') yield { type: 'text', text };
  }
  const rest = answer.end();
  if (rest !== '') yield { type: 'text', text: rest };
  for (const toolCall of answer.calls()) yield { type: 'tool_call', call: toolCall };
  const tokens = countedTokens(answer.usage, estimatedTokens(Buffer.byteLength(body), answer.bytes));
  const usage = priced(tokens, price);
  yield { type: 'end', finish_reason: answer.finish_reason!, usage, model: answer.model ?? model, provider };
}

/** Whether an answer is a stream: by its type, or where it names none by how it begins. */
async function withForm(
  body: AsyncIterable<Uint8Array>,
  type: string,
): Promise<{ readonly pieces: AsyncIterable<Uint8Array>; readonly isStream: boolean }> {
  if (type !== '') return { pieces: body, isStream: /text\/event-stream/i.test(type) };
  const iterator = body[Symbol.asyncIterator]();
  let beginning = Buffer.alloc(0);
  let ended = false;
  while (!ended && beginning.toString().trim() === '') {
    const { done, value } = await iterator.next();
    ended = done === true;
    if (!done) beginning = Buffer.concat([beginning, value]);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield beginning;
    if (!ended) yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { pieces: all(), isStream: !beginning.toString().trimStart().startsWith('{') };
}

async function* chunksOfStream(
  pieces: AsyncIterable<Uint8Array>,
  limits: ModelLimits,
): AsyncIterable<ChatCompletion> {
  const waiting: string[] = [];
  const text = new TextDecoder();
  const parser = createParser({ onEvent: ({ data }) => waiting.push(data) });
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > limits.answer_bytes) throw tooLong(limits);
    parser.feed(text.decode(piece, { stream: true }));
    for (const data of waiting.splice(0)) {
      if (data.trim() === '[DONE]') return;
      yield completionOf(data);
    }
  }
}

async function* wholeAnswer(
  pieces: AsyncIterable<Uint8Array>,
  limits: ModelLimits,
): AsyncIterable<ChatCompletion> {
  const text = await textOf(pieces, limits.answer_bytes + 1);
  if (Buffer.byteLength(text) > limits.answer_bytes) throw tooLong(limits);
  yield completionOf(text);
}

function completionOf(text: string): ChatCompletion {
  try {
    return decode(ChatCompletion, JSON.parse(text), 'chat completion');
  } catch (error) {
    throw broken(messageOf(error));
  }
}

function withoutCredential(text: string, credential: string | null): string {
  return credential === null ? text : text.replaceAll(credential, '[key]');
}

function problemOf(error: unknown, at: string, credential: string | null): CoreError {
  if (error instanceof CoreError) return error;
  const code = codeOf(error);
  const message = withoutCredential(messageOf(error), credential);
  const connecting = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
  if (connecting.test(code) || /TLS|CERT|SSL/.test(code)) {
    return new Unavailable(
      'model_unavailable',
      `the model endpoint ${at} cannot be reached: ${message || code}`,
      { facts: { code } },
    );
  }
  return broken(message || code);
}

function broken(why: string): Failed {
  return new Failed('model_stream_broken', `the model's answer broke off: ${why}`);
}

function tooLong(limits: ModelLimits): Refused {
  return new Refused('model_refused', `the model's answer passes ${limits.answer_bytes} bytes and was ended`);
}

function interruption(signal: AbortSignal): CoreError {
  if (signal.reason instanceof CoreError) return signal.reason;
  return new Interrupted('cancelled', 'the request to the model was cancelled');
}

/** The error that planning sees for a status other than 2xx, with the endpoint's words but not the credential. */
function endpointError(
  { statusCode: status, headers }: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>,
  body: string,
  at: string,
  credential: string | null,
): CoreError {
  const { message: said, code } = errorWords(parsed(body)) ?? { message: '', code: '' };
  const words = withoutCredential(excerpt(said), credential);
  const message = `the model endpoint ${at} answered ${status}${words === '' ? '' : `: ${words}`}`;
  const facts = { status, code };
  const limited = status === 429 && !/quota|billing|credit/i.test(code);
  const down = status >= 500 || [408, 409, 425].includes(status);
  if (!limited && (!down || code === 'credential_unusable')) {
    return new Refused('model_refused', message, { facts });
  }
  const retryAfter = retryAfterSeconds([headers['retry-after']].flat()[0]);
  return new Unavailable(limited ? 'model_rate_limited' : 'model_unavailable', message, {
    facts,
    ...(retryAfter !== null && { retryAfter }),
  });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function excerpt(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return line.length > maxExcerpt ? `${line.slice(0, maxExcerpt)}…` : line;
}

/** The text up to a number of bytes; the rest is left unread. */
async function textOf(pieces: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    read.push(piece);
    bytes += piece.length;
    if (bytes >= limit) break;
  }
  return Buffer.concat(read).subarray(0, limit).toString('utf8');
}

function timedOut(which: string, ms: number): TimedOut {
  return new TimedOut(
    'model_timeout',
    `the model did not answer within the ${which} limit of ${ms / 1000} s`,
    { facts: { limit: which, ms } },
  );
}
