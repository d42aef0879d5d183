import { isWhole, openAiUsage, readUsage, type Usage } from '#kit/model-answers/usage.ts';
import type { Mask, MaskStream } from '../mask.ts';
import { endedEarly, StreamCutOff } from './failures.ts';
import { isNews } from './fetch.ts';
import type { FinishReason, GenerateResult, ProviderUsage, StreamPart } from './provider.ts';

interface OpenCall {
  readonly index: number;
  /** Characters of its arguments that came in deltas. */
  sent: number;
  readonly text: MaskStream;
}

interface ChunkOptions {
  /** Reported if the upstream names none. */
  readonly model: string;
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
  readonly #created = now();
  #id = `chatcmpl-${crypto.randomUUID()}`;
  #model: string;
  #started = false;
  /** Bytes of text, arguments and thoughts so far, for an estimate where the stream is left. */
  contentBytes = 0;
  usage: Usage | null = null;
  /** It was reported at the beginning alone. */
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
        this.contentBytes += Buffer.byteLength(part.delta);
        return this.#start() + this.#content(this.#text.push(part.delta));
      case 'text-end':
        return this.#endText();
      case 'reasoning-delta':
        this.contentBytes += Buffer.byteLength(part.delta);
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

  #content(content: string): string {
    return content === '' ? '' : this.#delta({ content });
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
    this.contentBytes += Buffer.byteLength(text);
    return this.#argumentsOf(call, call.text.push(text));
  }

  #argumentsOf({ index }: OpenCall, text: string): string {
    return text === '' ? '' : this.#delta({ tool_calls: [{ index, function: { arguments: text } }] });
  }

  /** A call without arguments, or one that came whole, had no deltas. */
  #wholeCall(id: string, name: string, input: string): string {
    const begun = this.#start() + this.#startCall(id, name);
    const call = this.#calls.get(id)!;
    const missing = call.sent > 0 ? '' : this.#arguments(id, input);
    return begun + missing + this.#argumentsOf(call, call.text.end());
  }

  #finish(part: Extract<StreamPart, { type: 'finish' }>): string {
    const { unified, raw } = part.finishReason;
    if (unified === 'interrupted' || !raw) throw new StreamCutOff(endedEarly);
    this.finished = true;
    const reported = usageFrom(part.usage, this.usage);
    this.usage = reported ?? this.usage;
    this.usageIsPartial = reported === null || reported.outputIsPartial === true;
    const refusal = refusalOf(part.providerMetadata);
    const reason = finishReasonOf(part.finishReason, this.#calls.size > 0);
    const usage =
      this.#options.includeUsage && reported !== null && isWhole(reported)
        ? this.#event([], { usage: wireUsage(reported, part.usage) })
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
    this.usage = readUsage(usage, null, { cacheBeside: true });
  }

  #delta(delta: object): string {
    return this.#event([{ index: 0, delta, logprobs: null, finish_reason: null }]);
  }

  #event(choices: readonly object[], more: object = {}): string {
    const head = { id: this.#id, object: 'chat.completion.chunk', created: this.#created };
    const event = JSON.stringify({ ...head, model: this.#model, choices, ...more });
    return `data: ${this.#options.mask.hide(event)}\n\n`;
  }
}

/** A whole answer as OpenAI's `chat.completion`. @param model its name where the upstream names none */
export function completionOf(result: GenerateResult, model: string): Record<string, unknown> {
  let text = '';
  let hasText = false;
  const calls: object[] = [];
  for (const part of result.content) {
    if (part.type === 'text') {
      text += part.text;
      hasText = true;
    } else if (part.type === 'tool-call') {
      calls.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: part.input },
      });
    }
  }
  const usage = usageFrom(result.usage);
  return {
    id: result.response?.id ?? `chatcmpl-${crypto.randomUUID()}`,
    object: 'chat.completion',
    created: now(),
    model: result.response?.modelId ?? model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: hasText ? text : null,
          refusal: refusalOf(result.providerMetadata),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReasonOf(result.finishReason, calls.length > 0),
      },
    ],
    ...(usage !== null && isWhole(usage) && { usage: wireUsage(usage, result.usage) }),
  };
}

/** In seconds. */
function now(): number {
  return Math.floor(Date.now() / 1000);
}

type OpenAiFinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

function finishReasonOf({ unified }: FinishReason, calledTools: boolean): OpenAiFinishReason {
  switch (unified) {
    case 'tool-calls':
      return 'tool_calls';
    case 'length':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    default:
      return calledTools ? 'tool_calls' : 'stop';
  }
}

/** What Anthropic says of a refusal, where it does. */
export function refusalOf(metadata: unknown): string | null {
  const anthropic = (metadata as { anthropic?: { stopDetails?: { explanation?: unknown } } } | undefined)
    ?.anthropic;
  const explanation = anthropic?.stopDetails?.explanation;
  return typeof explanation === 'string' && explanation !== '' ? explanation : null;
}

/** null where the upstream counted nothing. @param before what it counted at the beginning of its stream */
export function usageFrom({ raw }: ProviderUsage, before: Usage | null = null): Usage | null {
  return readUsage(raw, before, { cacheBeside: true });
}

/** For the client, with the tokens of thoughts where they were counted. */
function wireUsage(usage: Usage, provider: ProviderUsage): Record<string, unknown> {
  const reasoning = provider.outputTokens.reasoning;
  return {
    ...openAiUsage(usage),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
