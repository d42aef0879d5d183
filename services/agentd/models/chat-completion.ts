import * as t from 'io-ts';
import { matches, nullable, optional } from '#kit/decode.ts';
import { Failed } from '#kit/errors.ts';
import { ChatAnswer, UnfinishedAnswer } from '#kit/model-answers/chat-answer.ts';
import { UnknownPart } from '#kit/model-answers/content-parts.ts';
import { BrokenToolCalls } from '#kit/model-answers/tool-calls.ts';
import type { Usage } from '#kit/model-answers/usage.ts';
import type { ModelUsage, ToolCall } from '../planning/model.ts';

/** One chunk of a stream, or a whole answer. Endpoints differ in most of it, so its parts are judged where they are used. */
export const ChatCompletion = t.record(t.string, t.unknown);
export type ChatCompletion = t.TypeOf<typeof ChatCompletion>;

type TokenCount = Pick<Usage, 'input' | 'output' | 'cached'>;

/** Bounds must hold with endpoints that count nothing: about four bytes make a token. */
export function estimatedTokens(inputBytes: number, outputBytes: number): TokenCount {
  return { input: Math.ceil(inputBytes / 4), output: Math.ceil(outputBytes / 4), cached: 0 };
}

/** Usage as the endpoint counted it. A side that it did not state is at least the estimate. */
export function countedTokens(usage: Usage | null, estimate: TokenCount): TokenCount {
  if (usage === null) return estimate;
  const { input, output, cached, inputIsPartial, outputIsPartial } = usage;
  return {
    cached,
    input: inputIsPartial ? Math.max(input, estimate.input) : input,
    output: outputIsPartial ? Math.max(output, estimate.output) : output,
  };
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
  readonly #answer = new ChatAnswer();
  model: string | null = null;
  /** Bytes of what the model wrote. */
  bytes = 0;

  get finish_reason(): string | null {
    return this.#answer.finishReason;
  }

  get usage(): Usage | null {
    return this.#answer.usage;
  }

  /** Takes one chunk in and gives back its text. @throws Failed (`model_stream_broken`) */
  add(chunk: ChatCompletion): string {
    if (chunk.error != null)
      throw broken(
        `the model endpoint broke its answer off with an error: ${errorWords(chunk.error)?.message || 'without words'}`,
      );
    if (typeof chunk.model === 'string') this.model = chunk.model;
    return this.#taken(() => this.#answer.read(chunk));
  }

  /** The text that was held back. @throws Failed (`model_stream_broken`) for tool calls that are not certain */
  end(): string {
    return this.#taken(() => this.#answer.end());
  }

  /** After `end`: the whole calls, each with an id of its own whatever the endpoint gave. */
  calls(): ToolCall[] {
    const taken = new Set<string>();
    const calls = this.#answer.blocks.filter(({ kind }) => kind === 'call');
    return calls.map(({ id, name, text }, position) => {
      const unique = id === '' || taken.has(id) ? `call_${position + 1}_${taken.size}` : id;
      taken.add(unique);
      return { id: unique, type: 'function', function: { name, arguments: text } };
    });
  }

  #taken(read: () => ReturnType<ChatAnswer['read']>): string {
    let text = '';
    try {
      for (const step of read()) {
        if (step.type !== 'delta') continue;
        this.bytes += Buffer.byteLength(step.text);
        if (step.block.kind === 'text' || step.block.kind === 'refusal') text += step.text;
      }
    } catch (error) {
      const isBroken = [BrokenToolCalls, UnfinishedAnswer, UnknownPart].some((kind) => error instanceof kind);
      if (!isBroken) throw error;
      throw broken(`the model's answer broke off: ${(error as Error).message}`);
    }
    return text;
  }
}

function broken(message: string): Failed {
  return new Failed('model_stream_broken', message);
}
