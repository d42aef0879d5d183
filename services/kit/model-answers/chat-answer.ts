import { isObject } from '../is-object.ts';
import { contentParts } from './content-parts.ts';
import { BrokenToolCalls, ToolCallAssembler } from './tool-calls.ts';
import { readUsage, reasoningIn, type Usage } from './usage.ts';

/** One part of an answer; `text` is all of it so far, of a call its arguments. */
export interface Block {
  readonly kind: 'thinking' | 'text' | 'refusal' | 'call';
  /** Its place in the answer. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** An answer ended, and the server did not say why. */
export class UnfinishedAnswer extends Error {}

/** What happens to the blocks of an answer: each begins, grows and ends before the next begins. */
export type Step =
  | { readonly type: 'start'; readonly block: Block }
  | { readonly type: 'delta'; readonly block: Block; readonly text: string }
  | { readonly type: 'stop'; readonly block: Block };

type OpenBlock = { -readonly [K in keyof Block]: Block[K] } & {
  /** Written, but not yet in a step. */
  pending: string;
  /** Of a call, all that came so far. */
  arguments: string;
};

/**
 * An answer of a chat completion, whole or in chunks, as blocks in order. A server may write several calls at once, so that what
 * follows the first one that is open waits until the end.
 */
export class ChatAnswer {
  readonly #blocks: OpenBlock[] = [];
  readonly #calls = new ToolCallAssembler<OpenBlock>(() => this.#add('call'));
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

  /** @param value a chunk, or a whole answer. @throws BrokenToolCalls, UnknownPart */
  read(value: Readonly<Record<string, unknown>>): Step[] {
    this.#begin(value);
    this.#count(value.usage);
    const choices: readonly unknown[] = Array.isArray(value.choices) ? value.choices : [];
    for (const choice of choices) if (isObject(choice) && (choice.index ?? 0) === 0) this.#readChoice(choice);
    return this.#steps(false);
  }

  /** @throws BrokenToolCalls, UnfinishedAnswer */
  end(): Step[] {
    this.#begin({});
    if (this.finishReason === null) throw new UnfinishedAnswer('it ended without a finish_reason');
    this.#calls.end();
    const promised = this.finishReason === 'tool_calls' || this.finishReason === 'function_call';
    if (promised && !this.#blocks.some(({ kind }) => kind === 'call'))
      throw new BrokenToolCalls(`it ends with ${this.finishReason}, and has no tool call`);
    return this.#steps(true);
  }

  #begin({ id, created }: Readonly<Record<string, unknown>>): void {
    if (this.id !== '') return;
    this.id = typeof id === 'string' && id !== '' ? id : crypto.randomUUID();
    this.created = typeof created === 'number' ? created : Math.floor(Date.now() / 1000);
  }

  #count(usage: unknown): void {
    this.usage = readUsage(usage, this.usage) ?? this.usage;
    this.reasoningTokens = Math.max(this.reasoningTokens, reasoningIn(usage));
  }

  #readChoice(choice: Readonly<Record<string, unknown>>): void {
    const { finish_reason: finish, stop_reason: stop } = choice;
    if (typeof finish === 'string' && finish !== '') this.finishReason = finish;
    if (typeof stop === 'string') this.stopSequence = stop;
    const isWhole = choice.delta == null;
    const written = choice.delta ?? choice.message;
    if (!isObject(written)) return;
    // Servers disagree in the name, and some write both.
    this.#write('thinking', written.reasoning_content ?? written.reasoning);
    for (const { kind, text } of contentParts(written.content)) this.#write(kind, text);
    this.#write('refusal', written.refusal);
    const calls: readonly unknown[] = Array.isArray(written.tool_calls) ? written.tool_calls : [];
    for (const [position, call] of calls.entries())
      this.#took(isWhole ? this.#calls.whole(call) : this.#calls.delta(call, position, calls.length));
    if (isObject(written.function_call) && calls.length === 0)
      this.#took(this.#calls.delta({ index: 0, function: written.function_call }, 0, 1));
  }

  #write(kind: Exclude<Block['kind'], 'call'>, text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    const last = this.#blocks.at(-1);
    const block = last?.kind === kind ? last : this.#add(kind);
    block.pending += text;
  }

  #took({ call, text }: { readonly call: OpenBlock; readonly text: string }): void {
    call.pending += text;
  }

  #add(kind: Block['kind']): OpenBlock {
    const block = {
      kind,
      index: this.#blocks.length,
      id: '',
      name: '',
      text: '',
      pending: '',
      arguments: '',
    };
    this.#blocks.push(block);
    return block;
  }

  #steps(isEnd: boolean): Step[] {
    const steps: Step[] = [];
    for (let block = this.#blocks[this.#current]; block !== undefined; block = this.#blocks[this.#current]) {
      const isCall = block.kind === 'call';
      if (isCall && !isEnd && block.name === '') return steps;
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
