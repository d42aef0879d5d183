import { isObject } from '#kit/is-object.ts';
import { type Block, ChatAnswer, type Step } from '#kit/model-answers/chat-answer.ts';
import { noUsage, type Usage } from '#kit/model-answers/usage.ts';
import { idFrom, type SseEvent } from '../answer-events.ts';

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

/**
 * Answers of chat completions as those of Anthropic's Messages; one for each call. What the model thought is given on where the
 * request asks for thinking.
 */
export class FromChat {
  readonly #model: string;
  readonly #inputTokens: number;
  readonly #thinks: boolean;
  readonly #stops: readonly unknown[];
  readonly #answer = new ChatAnswer();
  #begun = false;
  /** Of the blocks that the client is given. */
  #index = -1;

  /**
   * @param request as the client sent it, in Messages
   * @param inputTokens estimate of the input: clients show it, and go by it, before the answer ends
   */
  constructor(request: Readonly<Record<string, unknown>>, inputTokens = 0) {
    const { model, thinking, stop_sequences: stops } = request;
    this.#inputTokens = inputTokens;
    this.#model = String(model);
    this.#thinks = isObject(thinking) && thinking.type !== 'disabled' && thinking.display !== 'omitted';
    this.#stops = Array.isArray(stops) ? stops : [];
  }

  whole(answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
    this.#answer.read(answer);
    this.#answer.end();
    const blocks = this.#answer.blocks.filter((block) => this.#gives(block));
    return {
      ...this.#head(),
      content: blocks.map(wholeBlock),
      ...this.#ending(),
      usage: usageIn(this.#answer.usage),
    };
  }

  chunk(chunk: Readonly<Record<string, unknown>>): SseEvent[] {
    const steps = this.#answer.read(chunk);
    return [...this.#begin(), ...steps.flatMap((step) => this.#eventsOf(step))];
  }

  /** @param usage as the gateway counts it; null takes what the upstream said */
  end(usage: Usage | null): SseEvent[] {
    const steps = this.#answer.end();
    return [
      ...this.#begin(),
      ...steps.flatMap((step) => this.#eventsOf(step)),
      event({
        type: 'message_delta',
        delta: this.#ending(),
        usage: usageIn(usage ?? this.#answer.usage),
      }),
      event({ type: 'message_stop' }),
    ];
  }

  #begin(): SseEvent[] {
    if (this.#begun) return [];
    this.#begun = true;
    const message = { ...this.#head(), content: [], stop_reason: null, stop_sequence: null };
    return [
      event({
        type: 'message_start',
        message: {
          ...message,
          usage: usageIn(this.#answer.usage ?? { ...noUsage, input: this.#inputTokens }),
        },
      }),
      event({ type: 'ping' }),
    ];
  }

  #head(): Record<string, unknown> {
    return { id: idFrom('msg', this.#answer.id), type: 'message', role: 'assistant', model: this.#model };
  }

  #ending(): Record<string, unknown> {
    const { finishReason, stopSequence, blocks } = this.#answer;
    const kinds = new Set(blocks.map(({ kind }) => kind));
    if (stopSequence !== null && this.#stops.includes(stopSequence))
      return { stop_reason: 'stop_sequence', stop_sequence: stopSequence };
    const reason = stopReasons[finishReason ?? 'stop'] ?? 'end_turn';
    // Some servers end calls with "stop".
    const meant = reason === 'end_turn' && kinds.has('call') ? 'tool_use' : reason;
    const refused = meant === 'end_turn' && kinds.has('refusal');
    return { stop_reason: refused ? 'refusal' : meant, stop_sequence: null };
  }

  #gives({ kind }: Block): boolean {
    return kind !== 'thinking' || this.#thinks;
  }

  #eventsOf(step: Step): SseEvent[] {
    const { block } = step;
    // A client takes a stream without events for one that hangs.
    if (!this.#gives(block)) return step.type === 'delta' ? [event({ type: 'ping' })] : [];
    switch (step.type) {
      case 'start':
        this.#index++;
        return [event({ type: 'content_block_start', index: this.#index, content_block: emptyBlock(block) })];
      case 'delta':
        return [event({ type: 'content_block_delta', index: this.#index, delta: deltaOf(block, step.text) })];
      case 'stop':
        return [event({ type: 'content_block_stop', index: this.#index })];
    }
  }
}

type Shape = Readonly<Record<string, unknown>>;

const shapes: Record<
  Block['kind'],
  {
    readonly empty: (block: Block) => Shape;
    readonly delta: (text: string) => Shape;
    readonly whole: (block: Block) => Shape;
  }
> = {
  thinking: {
    empty: () => ({ type: 'thinking', thinking: '', signature: '' }),
    delta: (text) => ({ type: 'thinking_delta', thinking: text }),
    whole: ({ text }) => ({ type: 'thinking', thinking: text, signature: '' }),
  },
  text: textShape(),
  refusal: textShape(),
  call: {
    empty: ({ id, name }) => ({ type: 'tool_use', id, name, input: {} }),
    delta: (text) => ({ type: 'input_json_delta', partial_json: text }),
    whole: ({ id, name, text }) => ({ type: 'tool_use', id, name, input: inputOf(text) }),
  },
};

function textShape(): (typeof shapes)['text'] {
  return {
    empty: () => ({ type: 'text', text: '' }),
    delta: (text) => ({ type: 'text_delta', text }),
    whole: ({ text }) => ({ type: 'text', text }),
  };
}

const emptyBlock = (block: Block) => shapes[block.kind].empty(block);
const wholeBlock = (block: Block) => shapes[block.kind].whole(block);
const deltaOf = ({ kind }: Block, text: string) => shapes[kind].delta(text);

/** An input is an object: what a model wrote wrongly reaches the client's tool under a name that says so. */
function inputOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    const input: unknown = JSON.parse(text);
    if (isObject(input)) return input;
  } catch {}
  return { INVALID_JSON: text };
}

/** Here `input_tokens` are those that no cache had. */
function usageIn(usage: Usage | null): Record<string, unknown> {
  const { input, output, cached, cache_writes } = usage ?? noUsage;
  return {
    input_tokens: Math.max(0, input - cached - cache_writes),
    cache_creation_input_tokens: cache_writes,
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
}

function event(data: { readonly type: string } & Shape): SseEvent {
  return { event: data.type, data };
}
