import { CoreError, Refused } from '#kit/errors.ts';
import { isContextOverflow } from '#kit/model-answers/context-overflow.ts';
import type { ChatMessage, ToolCall, ToolDefinition } from '../../planning/model.ts';

export interface FittedOptions {
  /** For messages. */
  readonly model: string;
  readonly tools: readonly ToolDefinition[];
  /** Tokens that input and answer have room in together; null where nobody says. */
  readonly window: number | null;
  /** Most tokens of one answer. */
  readonly max_answer: number;
}

/** Few texts have fewer bytes in a token; what a model counts corrects it. */
const bytesPerToken = 3;
/** Beside the text of a message, about. */
const messageBytes = 24;
const minAnswerTokens = 512;
/** Results and arguments keep so many characters when they are shortened. */
const keptCharacters = 200;
const maxOverflows = 5;

/**
 * A conversation as it is sent: whole while it fits into the model's context window, else with older tool results shortened, then
 * arguments of older calls, then without the oldest turns, at last with the newest results cut.
 */
export class FittedConversation {
  readonly #options: FittedOptions;
  readonly #toolBytes: number;
  readonly #opening: ChatMessage[] = [];
  readonly #turns: ChatMessage[][] = [];
  #window: number | null;
  #bytesPerToken = bytesPerToken;
  #leftOut = 0;
  #overflows = 0;

  constructor(options: FittedOptions) {
    this.#options = options;
    this.#window = options.window;
    this.#toolBytes = Buffer.byteLength(JSON.stringify(options.tools));
  }

  /** Bytes that the messages before the first turn may have, so that there is room left to work in. */
  get openingBytes(): number {
    const room = this.#roomTokens();
    return Math.floor((room - Math.min(4096, room / 3)) * this.#bytesPerToken) - this.#toolBytes;
  }

  /** Characters that one tool result may have. */
  get resultCharacters(): number {
    return Math.max(1000, Math.floor((this.#roomTokens() / 4) * this.#bytesPerToken));
  }

  open(messages: readonly ChatMessage[]): void {
    this.#opening.push(...messages);
  }

  add(turn: readonly ChatMessage[]): void {
    this.#turns.push([...turn]);
  }

  /**
   * What to send now, and how many tokens its answer may have.
   * @throws Refused (`issue_too_large`) where not even the beginning fits
   */
  request(): { readonly messages: readonly ChatMessage[]; readonly max_tokens: number } {
    const { max_answer } = this.#options;
    this.#shorten(Math.floor(this.#roomTokens() * this.#bytesPerToken));
    const messages = this.#messages();
    const left = this.#window === null ? max_answer : this.#window - this.#tokens();
    return { messages, max_tokens: Math.min(max_answer, left) };
  }

  /** Corrects the estimate of tokens by what an endpoint counted for the last request. */
  learn(inputTokens: number): void {
    if (inputTokens > 0)
      this.#bytesPerToken = Math.min(this.#bytesPerToken, (this.#bytes() / inputTokens) * 0.95);
  }

  /** Whether the error says that the last request passed the window; if so the next one is smaller. */
  overflowed(error: unknown): boolean {
    if (!isOverflow(error) || ++this.#overflows > maxOverflows) return false;
    const said = windowIn(error.message);
    if (said !== null && (this.#window === null || said < this.#window)) {
      this.#window = said;
      return true;
    }
    const { max_answer } = this.#options;
    if (this.#window === null) this.#window = Math.ceil(this.#tokens() * 0.75) + Math.min(max_answer, 1024);
    else this.#bytesPerToken *= 0.75;
    return true;
  }

  /** Tokens that the input may have. */
  #roomTokens(): number {
    if (this.#window === null) return Number.POSITIVE_INFINITY;
    return this.#window - this.#answerTokens(this.#window);
  }

  #answerTokens(window: number): number {
    return Math.min(this.#options.max_answer, Math.max(minAnswerTokens, Math.floor(window / 4)));
  }

  #messages(): ChatMessage[] {
    const opening = [...this.#opening];
    if (this.#leftOut > 0) {
      const last = opening.pop()!;
      const note = `[The first ${this.#leftOut} of your answers are left out here to make room; what they edited is in the scratch copy.]`;
      opening.push({ ...last, content: `${last.content}\n${note}` } as ChatMessage);
    }
    return [...opening, ...this.#turns.flat()];
  }

  #bytes(): number {
    return this.#toolBytes + bytesOf(this.#messages());
  }

  #tokens(): number {
    return Math.ceil(this.#bytes() / this.#bytesPerToken);
  }

  #shorten(room: number): void {
    if (this.#bytes() <= room) return;
    // Further than it must, so that requests begin alike for some turns and a cache of prompts can be used.
    const wanted = room * 0.75;
    for (const shorter of [withShortResult, withShortCalls]) {
      for (const turn of this.#turns.slice(0, -1)) {
        if (this.#bytes() <= wanted) return;
        turn.splice(0, turn.length, ...turn.map(shorter));
      }
      if (this.#bytes() <= room) return;
    }
    while (this.#turns.length > 1 && this.#bytes() > wanted) {
      this.#turns.shift();
      this.#leftOut += 1;
    }
    if (this.#bytes() > room) this.#cutNewest(room);
    const newest = this.#turns.at(-1) ?? [];
    if (this.#bytes() > room)
      newest.splice(0, newest.length, ...newest.map(withShortResult).map(withShortCalls));
    if (this.#bytes() > room) throw this.#tooLarge();
  }

  /** The results of the newest turn share the room that is left. */
  #cutNewest(room: number): void {
    const turn = this.#turns.at(-1) ?? [];
    const results = turn.filter(({ role }) => role === 'tool');
    const others = this.#bytes() - bytesOf(results);
    const each = Math.floor((room - others) / Math.max(1, results.length)) - messageBytes - 120;
    if (each < keptCharacters) return;
    turn.splice(0, turn.length, ...turn.map((message) => shortResult(message, each)));
  }

  #tooLarge(): Refused {
    const { model } = this.#options;
    const answer = this.#answerTokens(this.#window!);
    return new Refused(
      'issue_too_large',
      `the issue does not fit into the context of model ${model}: with rules and tools it takes about ${number(this.#tokens())} tokens, and of ${number(this.#window!)} an answer needs ${number(answer)}; nothing is proposed`,
      {
        facts: { tokens: this.#tokens(), context_tokens: this.#window },
        hint: 'make the issue shorter, or plan with a model that has a larger context; limits.context_tokens in models.json says how large it is where the upstream does not',
      },
    );
  }
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function bytesOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => {
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const texts = [message.content ?? '', ...calls.map((call) => JSON.stringify(call))];
    return sum + messageBytes + texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
  }, 0);
}

function withShortResult(message: ChatMessage): ChatMessage {
  return shortResult(message, keptCharacters);
}

/** @param bytes that are kept, about */
function shortResult(message: ChatMessage, bytes: number): ChatMessage {
  if (message.role !== 'tool' || Buffer.byteLength(message.content) <= bytes + 120) return message;
  const kept = Buffer.from(message.content).subarray(0, bytes).toString('utf8').replace(/�+$/, '');
  const note = `… [shortened to make room: ${message.content.length} characters; call the tool again for what you need]`;
  return { ...message, content: `${kept}${note}` };
}

function withShortCalls(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message;
  return { ...message, tool_calls: message.tool_calls.map(withShortArguments) };
}

/** Arguments stay JSON, because endpoints parse them. */
function withShortArguments(call: ToolCall): ToolCall {
  const { name, arguments: text } = call.function;
  if (text.length <= 2 * keptCharacters) return call;
  const short = (_: string, value: unknown) =>
    typeof value === 'string' && value.length > keptCharacters
      ? `${value.slice(0, keptCharacters).toWellFormed()}… [shortened to make room]`
      : value;
  try {
    return { ...call, function: { name, arguments: JSON.stringify(JSON.parse(text), short) } };
  } catch {
    return { ...call, function: { name, arguments: '{}' } };
  }
}

function isOverflow(error: unknown): error is CoreError {
  if (!(error instanceof CoreError) || ![400, 413].includes(Number(error.facts.status))) return false;
  return isContextOverflow({ code: error.facts.code, message: error.message });
}

/** The window that the words name; null where they name none. */
function windowIn(words: string): number | null {
  const found =
    /(?:maximum context length is|available context size \(|tokens > |context limit: [\d, +]+> |tokens allowed \()\s*(\d[\d,]*)/i.exec(
      words,
    );
  return found === null ? null : Number(found[1]!.replaceAll(',', ''));
}
