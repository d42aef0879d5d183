import { InvalidInput } from '#kit/errors.ts';

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

interface ImagePart {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string; readonly detail?: string };
}

export type Part = TextPart | ImagePart;

interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

type ChatMessage =
  | { readonly role: 'system'; content: string }
  | { readonly role: 'user'; readonly parts: Part[] }
  | { readonly role: 'assistant'; content: string | null; readonly tool_calls: ToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

/**
 * The messages of a chat completion, in the form that the templates of local models take too: one system message, which comes
 * first; results right behind the answer that called; no two messages of a user in a row; text alone as a string.
 */
export class Conversation {
  readonly #messages: ChatMessage[] = [];

  /** Behind the first other message many templates refuse the role, so that the user passes the text on, marked. */
  system(text: string): void {
    if (text.trim() === '') return;
    const [first] = this.#messages;
    if (first === undefined) this.#messages.push({ role: 'system', content: text });
    else if (first.role === 'system' && this.#messages.length === 1)
      first.content = joined(first.content, text);
    else this.user([{ type: 'text', text: `<system-reminder>\n${text}\n</system-reminder>` }]);
  }

  user(parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const last = this.#messages.at(-1);
    if (last?.role === 'user') last.parts.push(...parts);
    else this.#messages.push({ role: 'user', parts: [...parts] });
  }

  assistant(text: string): void {
    if (text === '') return;
    const answer = this.#answer();
    answer.content = answer.content === null ? text : joined(answer.content, text);
  }

  call(id: string, name: string, text: string): void {
    this.#answer().tool_calls.push({ id, type: 'function', function: { name, arguments: text } });
  }

  /**
   * A tool message is text alone: pictures follow in a message of the user.
   * @param at names the result for the message
   * @throws InvalidInput if nothing before it called
   */
  result(id: string, parts: readonly Part[], at: string): void {
    const calling = this.#messages.findLastIndex(
      (message) => message.role === 'assistant' && message.tool_calls.some((call) => call.id === id),
    );
    if (calling === -1)
      throw new InvalidInput(
        'invalid_input',
        `${at} is ${JSON.stringify(id)}: no tool call before it has this id`,
      );
    let place = calling + 1;
    while (this.#messages[place]?.role === 'tool') place++;
    const images = parts.filter((part) => part.type === 'image_url');
    const text = textOf(parts) ?? textOf(parts.filter((part) => part.type === 'text'))!;
    const content = images.length === 0 ? text : joined(text, 'The pictures follow in the next message.');
    this.#messages.splice(place, 0, { role: 'tool', tool_call_id: id, content });
    if (images.length > 0) this.user([{ type: 'text', text: `Pictures of the tool call ${id}:` }, ...images]);
  }

  /** Who spoke last; undefined where nobody did. */
  get lastRole(): ChatMessage['role'] | undefined {
    return this.#messages.at(-1)?.role;
  }

  messages(): Record<string, unknown>[] {
    return this.#messages.map((message) => {
      if (message.role === 'user') return { role: 'user', content: textOf(message.parts) ?? message.parts };
      if (message.role !== 'assistant') return { ...message };
      const { role, content, tool_calls } = message;
      return { role, content, ...(tool_calls.length > 0 && { tool_calls }) };
    });
  }

  #answer(): Extract<ChatMessage, { role: 'assistant' }> {
    const last = this.#messages.at(-1);
    if (last?.role === 'assistant') return last;
    const answer: ChatMessage = { role: 'assistant', content: null, tool_calls: [] };
    this.#messages.push(answer);
    return answer;
  }
}

function joined(before: string, text: string): string {
  return before === '' ? text : `${before}\n\n${text}`;
}

/** null where there is more than text. */
function textOf(parts: readonly Part[]): string | null {
  const texts = parts.filter((part) => part.type === 'text');
  return texts.length === parts.length ? texts.map(({ text }) => text).join('\n\n') : null;
}
