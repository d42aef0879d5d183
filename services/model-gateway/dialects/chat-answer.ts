import { isObject } from '#kit/is-object.ts';
import { type Usage, usageOf } from '#kit/model-answers/usage.ts';

/** One part of an answer; `text` is all of it so far, of a call its arguments. */
export interface Block {
  readonly kind: 'thinking' | 'text' | 'refusal' | 'call';
  /** Its place in the answer. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** What happens to the blocks of an answer: each begins, grows and ends before the next begins. */
export type Step =
  | { readonly type: 'start'; readonly block: Block }
  | { readonly type: 'delta'; readonly block: Block; readonly text: string }
  | { readonly type: 'stop'; readonly block: Block };

type OpenBlock = { -readonly [K in keyof Block]: Block[K] } & {
  /** Written, but not yet in a step. */
  pending: string;
  readonly position: unknown;
};

/**
 * An answer of a chat completion, whole or in chunks, as blocks in order. A server may write several calls at once, so that what
 * follows the first one that is open waits until the end.
 */
export class ChatAnswer {
  readonly #blocks: OpenBlock[] = [];
  /** Those before have ended. */
  #current = 0;
  #started = false;
  /** The upstream's own, where its first piece has one. */
  id = '';
  /** In seconds. */
  created = 0;
  finishReason: string | null = null;
  /** Which text ended the answer, where the upstream says so, as vLLM does. */
  stopSequence: string | null = null;
  usage: Usage | null = null;
  reasoningTokens = 0;

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  /** @param value a chunk, or a whole answer */
  read(value: Readonly<Record<string, unknown>>): Step[] {
    this.#begin(value);
    this.#count(value.usage);
    const choices: readonly unknown[] = Array.isArray(value.choices) ? value.choices : [];
    for (const choice of choices) if (isObject(choice) && (choice.index ?? 0) === 0) this.#readChoice(choice);
    return this.#steps(false);
  }

  end(): Step[] {
    this.#begin({});
    return this.#steps(true);
  }

  #begin({ id, created }: Readonly<Record<string, unknown>>): void {
    if (this.id !== '') return;
    this.id = typeof id === 'string' && id !== '' ? id : crypto.randomUUID();
    this.created = typeof created === 'number' ? created : Math.floor(Date.now() / 1000);
  }

  #count(usage: unknown): void {
    this.usage = usageOf(usage) ?? this.usage;
    const details = isObject(usage) ? usage.completion_tokens_details : null;
    if (isObject(details) && Number.isSafeInteger(details.reasoning_tokens))
      this.reasoningTokens = details.reasoning_tokens as number;
  }

  #readChoice(choice: Readonly<Record<string, unknown>>): void {
    const { finish_reason: finish, stop_reason: stop } = choice;
    if (typeof finish === 'string') this.finishReason = finish;
    if (typeof stop === 'string') this.stopSequence = stop;
    const written = choice.delta ?? choice.message;
    if (!isObject(written)) return;
    // Servers disagree in the name, and some write both.
    this.#write('thinking', written.reasoning_content ?? written.reasoning);
    this.#write('text', written.content);
    this.#write('refusal', written.refusal);
    const calls: readonly unknown[] = Array.isArray(written.tool_calls) ? written.tool_calls : [];
    for (const [position, call] of calls.entries()) if (isObject(call)) this.#readCall(call, position);
  }

  #write(kind: Exclude<Block['kind'], 'call'>, text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    const last = this.#blocks.at(-1);
    const block = last?.kind === kind ? last : this.#add(kind, null);
    block.pending += text;
  }

  #readCall(call: Readonly<Record<string, unknown>>, place: number): void {
    const position = call.index ?? place;
    const id = typeof call.id === 'string' ? call.id : '';
    const { name, arguments: text } = isObject(call.function) ? call.function : {};
    let block = this.#blocks.findLast((one) => one.kind === 'call' && one.position === position);
    // Some servers give every call the same place, and an id of its own.
    if (block === undefined || (id !== '' && block.id !== '' && id !== block.id))
      block = this.#add('call', position);
    if (id !== '') block.id = id;
    if (typeof name === 'string' && block.name === '') block.name = name;
    if (typeof text === 'string') block.pending += text;
  }

  #add(kind: Block['kind'], position: unknown): OpenBlock {
    const block = { kind, index: this.#blocks.length, id: '', name: '', text: '', pending: '', position };
    this.#blocks.push(block);
    return block;
  }

  #steps(isEnd: boolean): Step[] {
    const steps: Step[] = [];
    for (let block = this.#blocks[this.#current]; block !== undefined; block = this.#blocks[this.#current]) {
      const isCall = block.kind === 'call';
      if (isCall && !isEnd && (block.name === '' || block.id === '')) return steps;
      if (!this.#started) {
        this.#started = true;
        if (isCall && block.id === '') block.id = `call_${this.id}_${block.index}`;
        steps.push({ type: 'start', block });
      }
      if (block.pending !== '') {
        block.text += block.pending;
        steps.push({ type: 'delta', block, text: block.pending });
        block.pending = '';
      }
      const isOver = isEnd || (!isCall && this.#current < this.#blocks.length - 1);
      if (!isOver) return steps;
      steps.push({ type: 'stop', block });
      this.#current++;
      this.#started = false;
    }
    return steps;
  }
}

/** Where the id of an answer leads to one of another dialect. */
export function idFrom(prefix: string, id: string): string {
  return `${prefix}_${id.replace(/^chatcmpl-?/, '').replace(/[^\w-]/g, '')}`;
}

/** An event of a stream as its dialect writes it. */
export interface SseEvent {
  readonly event: string;
  readonly data: unknown;
}
