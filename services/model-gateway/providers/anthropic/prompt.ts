import { filePart, imagePart } from './attachments.ts';
import type { AssistantPart, CacheMembers, Message, ToolCall, UserPart } from './chat-request.ts';
import { UntranslatableRequest } from './invalid-request.ts';
import { cacheOptions } from './prompt-cache.ts';
import type { Prompt, PromptMessage, UserContent } from './provider.ts';
import { providerCallId } from './tool-call-id.ts';

type AssistantContent = Extract<PromptMessage, { role: 'assistant' }>['content'][number];

/** The conversation in the provider's words. @throws UntranslatableRequest */
export function promptOf(messages: readonly Message[]): Prompt {
  const toolNames = new Map<string, string>();
  return messages.map((message, index) => messageOf(message, `messages[${index}]`, toolNames));
}

function messageOf(message: Message, at: string, toolNames: Map<string, string>): PromptMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return systemMessage(message.content);
    case 'user':
      return { role: 'user', content: userContent(message.content, at) };
    case 'assistant':
      for (const { id, function: called } of message.tool_calls ?? []) toolNames.set(id, called.name);
      return { role: 'assistant', content: assistantContent(message) };
    case 'tool':
      return toolMessage(message, toolNames, at);
  }
}

type TextContent = string | readonly ({ text: string } & CacheMembers)[];

function systemMessage(content: TextContent): PromptMessage {
  if (typeof content === 'string') return { role: 'system', content };
  return {
    role: 'system',
    content: content.map(({ text }) => text).join('\n'),
    ...cacheOptions(...content),
  };
}

function userContent(content: string | readonly UserPart[], at: string): UserContent[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, index): UserContent => {
    const cache = cacheOptions(part);
    if (part.type === 'text') return { type: 'text', text: part.text, ...cache };
    const param = `${at}.content[${index}]`;
    return part.type === 'image_url'
      ? { ...imagePart(part.image_url.url, `${param}.image_url.url`), ...cache }
      : { ...filePart(part.file, `${param}.file`), ...cache };
  });
}

function assistantContent(message: {
  content?: string | readonly AssistantPart[] | null | undefined;
  refusal?: string | null | undefined;
  tool_calls?: readonly ToolCall[] | null | undefined;
}): AssistantContent[] {
  const { content } = message;
  const parts: AssistantContent[] = [];
  if (typeof content === 'string') parts.push({ type: 'text', text: content });
  else
    for (const part of content ?? [])
      parts.push(
        part.type === 'text'
          ? { type: 'text', text: part.text, ...cacheOptions(part) }
          : { type: 'text', text: part.refusal },
      );
  if (message.refusal) parts.push({ type: 'text', text: message.refusal });
  for (const { id, function: called } of message.tool_calls ?? [])
    parts.push({
      type: 'tool-call',
      toolCallId: providerCallId(id),
      toolName: called.name,
      input: inputOf(called.arguments),
    });
  return parts;
}

/**
 * Anthropic takes objects only; what a model wrote wrongly is shown to it as Anthropic advises.
 * Source: docs.claude.com, "Fine-grained tool streaming", handling invalid JSON.
 */
function inputOf(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    const input: unknown = JSON.parse(text);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input;
  } catch {}
  return { INVALID_JSON: text };
}

function toolMessage(
  message: { tool_call_id: string; content: TextContent },
  toolNames: ReadonlyMap<string, string>,
  at: string,
): PromptMessage {
  const { tool_call_id: id, content } = message;
  const toolName = toolNames.get(id);
  if (toolName === undefined) {
    const choices = [...toolNames.keys()].join(', ') || 'none';
    throw new UntranslatableRequest(
      `'${at}.tool_call_id' is ${JSON.stringify(id)}, which no message before it called; called are ${choices}`,
      `${at}.tool_call_id`,
      'invalid_value',
    );
  }
  const text = typeof content === 'string' ? content : content.map((part) => part.text).join('\n');
  return {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: providerCallId(id),
        toolName,
        output: { type: 'text', value: text },
        ...cacheOptions(...(typeof content === 'string' ? [] : content)),
      },
    ],
  };
}
