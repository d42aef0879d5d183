import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import type { Terminal } from '../terminal.ts';

/** One artifact of a conversation; `messages` is null where the artifact was deleted. */
export interface ConversationPart {
  readonly digest: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[] | null;
}

/** What the model was sent and what it answered, as it is stored. */
export function conversationView(parts: readonly ConversationPart[], { paint }: Terminal): string {
  const lines = parts.flatMap(({ digest, messages }) =>
    messages === null
      ? [paint.dim(`--- artifact ${digest} is gone`), '']
      : messages.flatMap((message) => [
          paint.bold(`--- ${visibleLine(String(message.role))}`),
          ...textsOf(message).map((text) => visibleLines(text)),
          '',
        ]),
  );
  return `${lines.join('\n')}\n`;
}

function textsOf({ content, tool_calls }: Readonly<Record<string, unknown>>): string[] {
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  return [
    ...(typeof content === 'string' ? [content] : []),
    ...calls.map((call) => `${call?.function?.name} ${call?.function?.arguments}`),
  ];
}
