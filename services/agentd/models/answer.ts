import { Failed } from '#kit/errors.ts';
import type { ToolCall } from '../planning/model.ts';
import {
  type ChatCompletion,
  errorWords,
  type TokenCount,
  type ToolCallDelta,
  tokensOf,
} from './chat-completion.ts';

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
