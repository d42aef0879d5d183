import * as t from 'io-ts';
import { matches, nullable, optional } from '#kit/decode.ts';
import { Failed } from '#kit/errors.ts';
import type { ModelUsage, ToolCall } from '../planning/model.ts';

/** The parts of OpenAI's chat completions that are used; endpoints differ in the rest. */

const ToolCallDelta = t.strict({
  /** Some endpoints leave it out when an answer has one call. */
  index: optional(nullable(t.number)),
  id: optional(nullable(t.string)),
  function: optional(
    t.strict({ name: optional(nullable(t.string)), arguments: optional(nullable(t.string)) }),
  ),
});
type ToolCallDelta = t.TypeOf<typeof ToolCallDelta>;

const Message = t.strict({
  content: optional(nullable(t.string)),
  tool_calls: optional(nullable(t.array(ToolCallDelta))),
});

const Choice = t.strict({
  /** In a stream. */
  delta: optional(nullable(Message)),
  /** In a whole answer. */
  message: optional(nullable(Message)),
  finish_reason: optional(nullable(t.string)),
});

/** One chunk of a stream, or a whole answer. `usage` and `error` are judged apart, so that a strange one harms nothing else. */
export const ChatCompletion = t.strict({
  model: optional(nullable(t.string)),
  choices: optional(nullable(t.array(Choice))),
  usage: t.unknown,
  error: t.unknown,
});
export type ChatCompletion = t.TypeOf<typeof ChatCompletion>;

const Usage = t.strict({
  prompt_tokens: t.number,
  completion_tokens: t.number,
  prompt_tokens_details: optional(nullable(t.strict({ cached_tokens: optional(nullable(t.number)) }))),
});
type Usage = t.TypeOf<typeof Usage>;

interface TokenCount {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/** null where the endpoint does not say, or says something that is no count. */
export function tokensOf(usage: unknown): TokenCount | null {
  if (!matches(Usage, usage)) return null;
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage as Usage;
  const cached = prompt_tokens_details?.cached_tokens ?? 0;
  if (![prompt_tokens, completion_tokens, cached].every((count) => Number.isInteger(count) && count >= 0)) {
    return null;
  }
  return { input: prompt_tokens, output: completion_tokens, cached: Math.min(cached, prompt_tokens) };
}

/** Bounds must hold with endpoints that count nothing: about four bytes make a token. */
export function estimatedTokens(inputBytes: number, outputBytes: number): TokenCount {
  return { input: Math.ceil(inputBytes / 4), output: Math.ceil(outputBytes / 4), cached: 0 };
}

/** US dollars for a million tokens. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

export function priced({ input, output, cached }: TokenCount, price: TokenPrice | null): ModelUsage {
  const cost =
    price === null
      ? null
      : ((input - cached) * price.input + cached * price.cached + output * price.output) / 1_000_000;
  return { input_tokens: input, output_tokens: output, cached_tokens: cached, cost };
}

const ErrorBody = t.strict({ message: optional(nullable(t.string)), code: t.unknown, type: t.unknown });

/** The endpoint's own words and code, from the usual shapes of an error body; null where there is none. */
export function errorWords(body: unknown): { message: string; code: string } | null {
  if (typeof body === 'string') return { message: body, code: '' };
  if (matches(t.strict({ error: t.unknown }), body)) {
    const { error } = body as { error: unknown };
    if (error !== undefined && error !== null) return errorWords(error);
  }
  // RFC 9457, as our own gateway answers.
  if (matches(t.strict({ detail: t.string }), body)) {
    const { detail, code } = body as { detail: string; code?: unknown };
    return { message: detail, code: typeof code === 'string' ? code : '' };
  }
  if (!matches(ErrorBody, body)) return null;
  const { message, code, type } = body as t.TypeOf<typeof ErrorBody>;
  const word = [code, type].find((value) => typeof value === 'string');
  return { message: message ?? '', code: typeof word === 'string' ? word : '' };
}

/** An answer as it grows, from the chunks of a stream or from one whole answer. */
export class Answer {
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>();
  #last = -1;
  model: string | null = null;
  finish_reason: string | null = null;
  tokens: TokenCount | null = null;
  /** Bytes of what the model wrote. */
  bytes = 0;

  /** Takes one chunk in and gives back its text. */
  add(chunk: ChatCompletion): string {
    if (chunk.error !== undefined && chunk.error !== null) {
      throw new Failed(
        'model_stream_broken',
        `the model endpoint broke its answer off with an error: ${errorWords(chunk.error)?.message || 'without words'}`,
      );
    }
    this.model = chunk.model ?? this.model;
    this.tokens = tokensOf(chunk.usage) ?? this.tokens;
    const choice = chunk.choices?.[0];
    if (choice === undefined) return '';
    this.finish_reason = choice.finish_reason ?? this.finish_reason;
    for (const delta of choice.delta?.tool_calls ?? [])
      this.#addCall(delta.index ?? this.#indexOf(delta), delta);
    for (const [index, call] of (choice.message?.tool_calls ?? []).entries()) this.#addCall(index, call);
    const text = choice.delta?.content ?? choice.message?.content ?? '';
    this.bytes += Buffer.byteLength(text);
    return text;
  }

  /** Where the endpoint numbers nothing, a new id or a further name begins the next call. */
  #indexOf(delta: ToolCallDelta): number {
    const current = this.#calls.get(this.#last);
    if (current === undefined) return this.#last + 1;
    const begins = delta.id ? delta.id !== current.id : Boolean(delta.function?.name);
    return begins ? this.#last + 1 : this.#last;
  }

  #addCall(index: number, delta: ToolCallDelta): void {
    this.#last = index;
    const call = this.#calls.get(index) ?? { id: '', name: '', arguments: '' };
    call.id ||= delta.id ?? '';
    call.name ||= delta.function?.name ?? '';
    call.arguments += delta.function?.arguments ?? '';
    this.#calls.set(index, call);
    this.bytes += Buffer.byteLength(delta.function?.arguments ?? '');
  }

  /** The whole calls, each with an id of its own whatever the endpoint gave. */
  calls(): ToolCall[] {
    const taken = new Set<string>();
    const inOrder = [...this.#calls].sort(([left], [right]) => left - right);
    return inOrder.map(([, { id, name, arguments: text }], position) => {
      const unique = id === '' || taken.has(id) ? `call_${position + 1}_${taken.size}` : id;
      taken.add(unique);
      return { id: unique, type: 'function', function: { name, arguments: text } };
    });
  }
}
