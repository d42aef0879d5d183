import type { Mask, MaskStream } from '../mask.ts';
import type { Usage } from '../usage.ts';
import { finishReasonOf, refusalOf } from './finish-reason.ts';
import type { StreamPart } from './provider.ts';
import { isNews } from './stream-news.ts';
import { usageAtStart, usageFrom, wireUsage } from './usage.ts';

/** The stream of the provider ended without its last event. */
export class StreamCutOff extends Error {}
export const endedEarly = 'ended its stream before the answer was complete';

interface OpenCall {
  readonly index: number;
  /** Characters of its arguments that came in deltas. */
  sent: number;
  readonly text: MaskStream;
}

export interface ChunkOptions {
  /** Told where the upstream names none. */
  readonly model: string;
  /** In seconds. */
  readonly created: number;
  readonly includeUsage: boolean;
  readonly mask: Mask;
}

/**
 * The parts of a streamed answer as server-sent events of OpenAI's `chat.completion.chunk`; one call for each part, so
 * that nothing is read before the client wants more. `usage` grows with what the upstream counted.
 */
export class CompletionChunks {
  readonly #options: ChunkOptions;
  readonly #calls = new Map<string, OpenCall>();
  #text: MaskStream;
  #id = `chatcmpl-${crypto.randomUUID()}`;
  #model: string;
  #started = false;
  /** Bytes of text, arguments and thoughts so far, for an estimate where the stream is left. */
  wordBytes = 0;
  usage: Usage | null = null;
  /** It was told at the beginning alone. */
  usageIsPartial = false;
  finished = false;

  constructor(options: ChunkOptions) {
    this.#options = options;
    this.#model = options.model;
    this.#text = options.mask.stream();
  }

  /** Empty for a part that a client of OpenAI's interface has no use for. @throws what the upstream said in mid-stream, StreamCutOff */
  of(part: StreamPart): string {
    switch (part.type) {
      case 'response-metadata':
        this.#id = part.id ?? this.#id;
        this.#model = part.modelId ?? this.#model;
        return this.#start();
      case 'custom':
        this.#countStart(part);
        return '';
      case 'text-delta':
        if (part.delta === '') return '';
        this.wordBytes += Buffer.byteLength(part.delta);
        return this.#start() + this.#content(this.#text.push(Buffer.from(part.delta)));
      case 'text-end':
        return this.#endText();
      case 'reasoning-delta':
        this.wordBytes += Buffer.byteLength(part.delta);
        // A comment: clients skip it, and nobody takes a model that thinks for one that hangs.
        return `${this.#start()}: thinking\n\n`;
      case 'tool-input-start':
        return this.#start() + this.#startCall(part.id, part.toolName);
      case 'tool-input-delta':
        return this.#arguments(part.id, part.delta);
      case 'tool-call':
        return this.#wholeCall(part.toolCallId, part.toolName, part.input);
      case 'error':
        if (isNews(part.error)) return '';
        throw part.error;
      case 'finish':
        return this.#finish(part);
      default:
        return '';
    }
  }

  #start(): string {
    if (this.#started) return '';
    this.#started = true;
    return this.#delta({ role: 'assistant', content: '', refusal: null });
  }

  #content(bytes: Buffer): string {
    return bytes.length === 0 ? '' : this.#delta({ content: bytes.toString() });
  }

  #endText(): string {
    const held = this.#text.end();
    this.#text = this.#options.mask.stream();
    return this.#content(held);
  }

  #startCall(id: string, name: string): string {
    if (this.#calls.has(id)) return '';
    const index = this.#calls.size;
    this.#calls.set(id, { index, sent: 0, text: this.#options.mask.stream() });
    return this.#delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
  }

  #arguments(id: string, text: string): string {
    const call = this.#calls.get(id);
    if (call === undefined || text === '') return '';
    call.sent += text.length;
    this.wordBytes += Buffer.byteLength(text);
    return this.#argumentsOf(call, call.text.push(Buffer.from(text)));
  }

  #argumentsOf({ index }: OpenCall, bytes: Buffer): string {
    return bytes.length === 0
      ? ''
      : this.#delta({ tool_calls: [{ index, function: { arguments: bytes.toString() } }] });
  }

  /** A call without arguments, or one that came whole, had no deltas. */
  #wholeCall(id: string, name: string, input: string): string {
    const begun = this.#start() + this.#startCall(id, name);
    const call = this.#calls.get(id)!;
    const missing = call.sent > 0 ? '' : this.#arguments(id, input);
    return begun + missing + this.#argumentsOf(call, call.text.end());
  }

  #finish(part: Extract<StreamPart, { type: 'finish' }>): string {
    if (part.finishReason.unified === 'interrupted') throw new StreamCutOff(endedEarly);
    this.finished = true;
    const told = usageFrom(part.usage);
    this.usage = told ?? this.usage;
    this.usageIsPartial = told === null;
    const refusal = refusalOf(part.providerMetadata);
    const reason = finishReasonOf(part.finishReason, this.#calls.size > 0);
    const usage =
      this.#options.includeUsage && told !== null
        ? this.#event([], { usage: wireUsage(told, part.usage) })
        : '';
    return (
      this.#start() +
      this.#endText() +
      (refusal === null ? '' : this.#delta({ refusal })) +
      this.#event([{ index: 0, delta: {}, logprobs: null, finish_reason: reason }]) +
      usage +
      'data: [DONE]\n\n'
    );
  }

  #countStart(part: Extract<StreamPart, { type: 'custom' }>): void {
    if (part.kind !== 'anthropic.message_start') return;
    const { usage } = (part.providerMetadata?.anthropic ?? {}) as { usage?: Record<string, unknown> };
    this.usage = usageAtStart(usage);
  }

  #delta(delta: object): string {
    return this.#event([{ index: 0, delta, logprobs: null, finish_reason: null }]);
  }

  #event(choices: readonly object[], more: object = {}): string {
    const head = { id: this.#id, object: 'chat.completion.chunk', created: this.#options.created };
    const event = JSON.stringify({ ...head, model: this.#model, choices, ...more });
    return `data: ${this.#options.mask.hide(event)}\n\n`;
  }
}
