import type { Block } from '#kit/model-answers/chat-answer.ts';
import { idFrom } from '../answer-events.ts';
import { customInput, shellAction, type ToolOrigin } from './tools.ts';

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

/** An item of the output of Responses, while it is written. */
export interface Item {
  start(): Event[];
  delta(text: string): Event[];
  stop(): Event[];
  /** As it is once it has ended. */
  value(): Record<string, unknown>;
}

interface ItemFacts {
  /** Makes ids of one answer differ. */
  readonly suffix: string;
  /** Absent for a tool that the request does not have. */
  readonly origin: ToolOrigin | undefined;
}

const kinds: Record<Exclude<Block['kind'], 'call'>, (block: Block, id: string) => Item> = {
  text: (block, id) =>
    new ContentItem(block, {
      item: { id: idFrom('msg', id), type: 'message', role: 'assistant' },
      part: (text) => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
      event: 'response.output_text',
      member: 'text',
      more: { logprobs: [] },
    }),
  refusal: (block, id) =>
    new ContentItem(block, {
      item: { id: idFrom('msg', id), type: 'message', role: 'assistant' },
      part: (refusal) => ({ type: 'refusal', refusal }),
      event: 'response.refusal',
      member: 'refusal',
      more: {},
    }),
  thinking: (block, id) =>
    new ContentItem(block, {
      item: { id: idFrom('rs', id), type: 'reasoning', summary: [], encrypted_content: null },
      part: (text) => ({ type: 'reasoning_text', text }),
      event: 'response.reasoning_text',
      member: 'text',
      more: {},
    }),
};

const calls: Record<ToolOrigin['kind'], (block: Block, id: string, origin: ToolOrigin) => Item> = {
  function: (block, id, { name, namespace }) =>
    new CallItem(block, {
      item: { id: idFrom('fc', id), type: 'function_call', name, ...(namespace !== null && { namespace }) },
      event: 'response.function_call_arguments',
      member: 'arguments',
      input: (text) => text || '{}',
      streams: true,
    }),
  custom: (block, id, { name, namespace }) =>
    new CallItem(block, {
      item: {
        id: idFrom('ctc', id),
        type: 'custom_tool_call',
        name,
        ...(namespace !== null && { namespace }),
      },
      event: 'response.custom_tool_call_input',
      member: 'input',
      input: customInput,
      streams: false,
    }),
  local_shell: (block, id) => new ShellItem(block, idFrom('lsh', id)),
};

export function itemOf(block: Block, { suffix, origin }: ItemFacts): Item {
  if (block.kind !== 'call') return kinds[block.kind](block, suffix);
  // A name that the request does not have is the client's to refuse, as with any model.
  const known = origin ?? { kind: 'function', name: block.name, namespace: null };
  return calls[known.kind](block, suffix, known);
}

interface ContentWords {
  readonly item: Readonly<Record<string, unknown>>;
  readonly part: (text: string) => Readonly<Record<string, unknown>>;
  readonly event: string;
  /** Of the event that has all of it. */
  readonly member: string;
  readonly more: Readonly<Record<string, unknown>>;
}

class ContentItem implements Item {
  readonly #block: Block;
  readonly #words: ContentWords;
  readonly #place: Readonly<Record<string, unknown>>;

  constructor(block: Block, words: ContentWords) {
    this.#block = block;
    this.#words = words;
    this.#place = { item_id: words.item.id, content_index: 0 };
  }

  start(): Event[] {
    const { item, part } = this.#words;
    return [
      { type: 'response.output_item.added', item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...this.#place, part: part('') },
    ];
  }

  delta(text: string): Event[] {
    const { event, more } = this.#words;
    return [{ type: `${event}.delta`, ...this.#place, delta: text, ...more }];
  }

  stop(): Event[] {
    const { event, member, part, more } = this.#words;
    const { text } = this.#block;
    return [
      { type: `${event}.done`, ...this.#place, [member]: text, ...more },
      { type: 'response.content_part.done', ...this.#place, part: part(text) },
      { type: 'response.output_item.done', item: this.value() },
    ];
  }

  value(): Record<string, unknown> {
    const { item, part } = this.#words;
    return { ...item, status: 'completed', content: [part(this.#block.text)] };
  }
}

interface CallWords {
  readonly item: Readonly<Record<string, unknown>>;
  readonly event: string;
  readonly member: string;
  readonly input: (text: string) => string;
  /** Whether what the model writes is the input piece by piece; else it is known at the end. */
  readonly streams: boolean;
}

class CallItem implements Item {
  readonly #block: Block;
  readonly #words: CallWords;

  constructor(block: Block, words: CallWords) {
    this.#block = block;
    this.#words = words;
  }

  start(): Event[] {
    return [{ type: 'response.output_item.added', item: this.#item('in_progress', '') }];
  }

  delta(text: string): Event[] {
    return this.#words.streams ? [this.#deltaOf(text)] : [];
  }

  stop(): Event[] {
    const { item, event, member, streams } = this.#words;
    const input = this.#input();
    const isGiven = input === '' || (streams && this.#block.text !== '');
    return [
      ...(isGiven ? [] : [this.#deltaOf(input)]),
      { type: `${event}.done`, item_id: item.id, [member]: input },
      { type: 'response.output_item.done', item: this.value() },
    ];
  }

  value(): Record<string, unknown> {
    return this.#item('completed', this.#input());
  }

  #input(): string {
    return this.#words.input(this.#block.text);
  }

  #deltaOf(text: string): Event {
    return { type: `${this.#words.event}.delta`, item_id: this.#words.item.id, delta: text };
  }

  #item(status: string, input: string): Record<string, unknown> {
    const { item, member } = this.#words;
    return { ...item, status, call_id: this.#block.id, [member]: input };
  }
}

/** Has no deltas of its own: what is to be run is known at the end. */
class ShellItem implements Item {
  readonly #block: Block;
  readonly #id: string;

  constructor(block: Block, id: string) {
    this.#block = block;
    this.#id = id;
  }

  start(): Event[] {
    return [];
  }

  delta(): Event[] {
    return [];
  }

  stop(): Event[] {
    const item = this.value();
    return [
      { type: 'response.output_item.added', item: { ...item, status: 'in_progress' } },
      { type: 'response.output_item.done', item },
    ];
  }

  value(): Record<string, unknown> {
    const { id, text } = this.#block;
    const action = shellAction(text);
    return { id: this.#id, type: 'local_shell_call', status: 'completed', call_id: id, action };
  }
}
