import { createParser } from 'eventsource-parser';
import { decode } from '#kit/decode.ts';
import { CoreError, codeOf, Failed, Interrupted, messageOf, Refused, Unavailable } from '#kit/errors.ts';
import { type Connections, openConnections } from '#kit/http/client.ts';
import type { Model, ModelEvent, ModelRequest } from '../planning/model.ts';
import { Answer } from './answer.ts';
import { ChatCompletion, errorWords, estimatedTokens, priced, type TokenPrice } from './chat-completion.ts';
import { type ModelLimits, piecesOf, textOf, timedOut, within } from './time-limits.ts';

export interface OpenAiCompatibleOptions {
  /** Up to and with `/v1`. */
  readonly base_url: string;
  /** Asked before each call; null where the endpoint wants no key. */
  readonly credential: (() => Promise<string>) | null;
  readonly model: string;
  readonly tier: string;
  readonly price: TokenPrice | null;
  readonly max_tokens_field?: 'max_tokens' | 'max_completion_tokens' | undefined;
  readonly limits?: Partial<ModelLimits>;
}

const defaultLimits: ModelLimits = {
  connect_ms: 10_000,
  first_token_ms: 120_000,
  idle_ms: 60_000,
  total_ms: 600_000,
  answer_bytes: 16 * 1024 * 1024,
};
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
  const connections = openConnections({ connectMs: limits.connect_ms, idleMs: 0 });
  const { model, tier } = options;
  const provider = new URL(options.base_url).host;
  return {
    provider,
    model,
    tier,
    complete: (request, signal) => complete(request, signal, { ...options, limits, connections }),
  };
}

interface Wiring extends OpenAiCompatibleOptions {
  readonly limits: ModelLimits;
  readonly connections: Connections;
}

async function* complete(
  request: ModelRequest,
  signal: AbortSignal,
  wiring: Wiring,
): AsyncIterable<ModelEvent> {
  const credential = (await wiring.credential?.()) ?? null;
  const body = JSON.stringify(requestBody(request, wiring));
  const call = new AbortController();
  const total = setTimeout(
    () => call.abort(timedOut('total', wiring.limits.total_ms)),
    wiring.limits.total_ms,
  );
  const passOn = () => call.abort(interruption(signal));
  signal.addEventListener('abort', passOn, { once: true });
  try {
    if (signal.aborted) throw interruption(signal);
    yield* exchange(body, credential, call, wiring);
  } catch (error) {
    throw problemOf(call.signal.aborted ? call.signal.reason : error, wiring.base_url, credential);
  } finally {
    clearTimeout(total);
    signal.removeEventListener('abort', passOn);
    // Ends the connection when the reader leaves early; without effect on a finished one.
    call.abort(new Interrupted('cancelled', 'the answer is no longer wanted'));
  }
}

async function* exchange(
  body: string,
  credential: string | null,
  call: AbortController,
  wiring: Wiring,
): AsyncIterable<ModelEvent> {
  const { limits } = wiring;
  const reply = await within(
    limits.first_token_ms,
    'first_token',
    call,
    wiring.connections.request(`${wiring.base_url.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
      },
      body,
      signal: call.signal,
    }),
  );
  const pieces = piecesOf(reply.body, call, limits);
  if (reply.statusCode < 200 || reply.statusCode > 299) {
    const retryAfter = reply.headers['retry-after'];
    throw endpointError(
      {
        status: reply.statusCode,
        retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
        body: await textOf(pieces, maxErrorBody),
      },
      wiring.base_url,
      (text) => withoutCredential(text, credential),
    );
  }
  const answer = new Answer();
  const streamed = /text\/event-stream/i.test(String(reply.headers['content-type'] ?? ''));
  for await (const chunk of streamed ? chunksOfStream(pieces, limits) : wholeAnswer(pieces, limits)) {
    const text = answer.add(chunk);
    if (text !== '') yield { type: 'text', text };
  }
  if (answer.finish_reason === null) throw broken('it ended without a finish_reason');
  for (const toolCall of answer.calls()) yield { type: 'tool_call', call: toolCall };
  const tokens = answer.tokens ?? estimatedTokens(Buffer.byteLength(body), answer.bytes);
  yield {
    type: 'end',
    finish_reason: answer.finish_reason,
    usage: priced(tokens, wiring.price),
    model: answer.model ?? wiring.model,
  };
}

function requestBody(request: ModelRequest, wiring: Wiring): Record<string, unknown> {
  return {
    model: wiring.model,
    messages: request.messages,
    ...(request.tools.length === 0
      ? {}
      : { tools: request.tools.map((tool) => ({ type: 'function', function: tool })) }),
    [wiring.max_tokens_field ?? 'max_tokens']: request.max_tokens,
    stream: true,
    stream_options: { include_usage: true },
  };
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
      {
        facts: { code },
      },
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

/** What a status other than 2xx means for planning. `redact` takes the credential out of the endpoint's words. */
function endpointError(
  reply: { status: number; retryAfter: string | undefined; body: string },
  at: string,
  redact: (text: string) => string,
): CoreError {
  const words = errorWords(parsed(reply.body));
  const said = redact(excerpt(words?.message ?? ''));
  const message = `the model endpoint ${at} answered ${reply.status}${said === '' ? '' : `: ${said}`}`;
  const facts = { status: reply.status, code: words?.code ?? '' };
  if (reply.status === 429 && !/quota|billing|credit/i.test(words?.code ?? '')) {
    const retryAfter = secondsOf(reply.retryAfter);
    return new Unavailable('model_rate_limited', message, {
      facts,
      ...(retryAfter === null ? {} : { retryAfter }),
    });
  }
  const isForGood = facts.code === 'credential_unusable';
  if (!isForGood && (reply.status >= 500 || [408, 409, 425].includes(reply.status))) {
    const retryAfter = secondsOf(reply.retryAfter);
    return new Unavailable('model_unavailable', message, {
      facts,
      ...(retryAfter === null ? {} : { retryAfter }),
    });
  }
  return new Refused('model_refused', message, { facts });
}

/** Seconds of a Retry-After header, which is a number or a date (RFC 9110, 10.2.3). */
function secondsOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
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
