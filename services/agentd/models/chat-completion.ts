import * as t from 'io-ts';
import { matches, nullable, optional } from '#kit/decode.ts';
import type { ModelUsage } from '../planning/model.ts';

/** The parts of OpenAI's chat completions that are used; endpoints differ in the rest. */

const ToolCallDelta = t.strict({
  /** Some endpoints leave it out when an answer has one call. */
  index: optional(nullable(t.number)),
  id: optional(nullable(t.string)),
  function: optional(
    t.strict({ name: optional(nullable(t.string)), arguments: optional(nullable(t.string)) }),
  ),
});
export type ToolCallDelta = t.TypeOf<typeof ToolCallDelta>;

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

export interface TokenCount {
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
