import { type Block, ChatAnswer, type Step } from '#kit/model-answers/chat-answer.ts';
import { noUsage, type Usage } from '#kit/model-answers/usage.ts';
import { idFrom, type SseEvent } from '../answer-events.ts';
import { type Item, itemOf } from './items.ts';
import { toolTable } from './tools.ts';

/** Answers of chat completions as those of OpenAI's Responses; one for each call. */
export class FromChat {
  readonly #request: Readonly<Record<string, unknown>>;
  readonly #origins: ReturnType<typeof toolTable>['origins'];
  readonly #answer = new ChatAnswer();
  readonly #items: Item[] = [];
  #sequence = 0;
  #begun = false;

  /** @param request as the client sent it, in Responses. @throws what `toChat` throws of its tools */
  constructor(request: Readonly<Record<string, unknown>>) {
    this.#request = request;
    this.#origins = toolTable(request.tools).origins;
  }

  whole(answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
    for (const step of [...this.#answer.read(answer), ...this.#answer.end()]) this.#eventsOf(step);
    return this.#response(this.#answer.usage);
  }

  chunk(chunk: Readonly<Record<string, unknown>>): SseEvent[] {
    const steps = this.#answer.read(chunk);
    return [...this.#begin(), ...steps.flatMap((step) => this.#eventsOf(step))];
  }

  /** @param usage as the gateway counts it; null takes what the upstream said */
  end(usage: Usage | null): SseEvent[] {
    const steps = this.#answer.end();
    const events = [...this.#begin(), ...steps.flatMap((step) => this.#eventsOf(step))];
    const response = this.#response(usage ?? this.#answer.usage);
    return [...events, this.#event({ type: `response.${response.status}`, response })];
  }

  #begin(): SseEvent[] {
    if (this.#begun) return [];
    this.#begun = true;
    const response = { ...this.#head(), status: 'in_progress', output: [], usage: null };
    return ['response.created', 'response.in_progress'].map((type) => this.#event({ type, response }));
  }

  #eventsOf(step: Step): SseEvent[] {
    const { block } = step;
    if (step.type === 'start') this.#items.push(itemOf(block, this.#itemFacts(block)));
    const item = this.#items[block.index]!;
    return item[step.type](step.type === 'delta' ? step.text : '').map((event) =>
      this.#event({ ...event, output_index: block.index }),
    );
  }

  #itemFacts({ index, name }: Block) {
    return { suffix: `${this.#answer.id}_${index}`, origin: this.#origins.get(name) };
  }

  #response(usage: Usage | null): Record<string, unknown> {
    const reason = incompleteReasons[this.#answer.finishReason ?? ''];
    return {
      ...this.#head(),
      status: reason === undefined ? 'completed' : 'incomplete',
      incomplete_details: reason === undefined ? null : { reason },
      output: this.#items.map((item) => item.value()),
      usage: this.#usageIn(usage ?? noUsage),
    };
  }

  #head(): Record<string, unknown> {
    const { id, created } = this.#answer;
    const request = this.#request;
    return {
      id: idFrom('resp', id),
      object: 'response',
      created_at: created,
      error: null,
      incomplete_details: null,
      instructions: request.instructions ?? null,
      max_output_tokens: request.max_output_tokens ?? null,
      metadata: request.metadata ?? {},
      model: request.model,
      parallel_tool_calls: request.parallel_tool_calls ?? true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: false,
      temperature: request.temperature ?? null,
      text: request.text ?? { format: { type: 'text' } },
      tool_choice: request.tool_choice ?? 'auto',
      tools: request.tools ?? [],
      top_p: request.top_p ?? null,
      truncation: 'disabled',
    };
  }

  #usageIn({ input, output, cached, cache_writes }: Usage): Record<string, unknown> {
    return {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: cache_writes },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: this.#answer.reasoningTokens },
      total_tokens: input + output,
    };
  }

  #event(data: Readonly<Record<string, unknown>>): SseEvent {
    const { type, ...members } = data;
    return { event: String(type), data: { type, sequence_number: this.#sequence++, ...members } };
  }
}

const incompleteReasons: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};
