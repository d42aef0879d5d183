import { sha256 } from '#kit/digest.ts';
import { cutText } from '#kit/redaction/cut-text.ts';
import { UntranslatableRequest } from './failures.ts';
import type { Prompt, PromptMessage, UserContent } from './provider.ts';
import type { CacheMembers, DecodedChat, Message } from './request.ts';

type AssistantContent = Extract<PromptMessage, { role: 'assistant' }>['content'][number];
type MessageOf<Role extends Message['role']> = Extract<Message, { role: Role }>;

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

function systemMessage(content: MessageOf<'system' | 'developer'>['content']): PromptMessage {
  if (typeof content === 'string') return { role: 'system', content };
  return {
    role: 'system',
    content: content.map(({ text }) => text).join('\n'),
    ...cacheOptions(...content),
  };
}

function userContent(content: MessageOf<'user'>['content'], at: string): UserContent[] {
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

function assistantContent(message: MessageOf<'assistant'>): AssistantContent[] {
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
  message: MessageOf<'tool'>,
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

type FileContent = Extract<UserContent, { type: 'file' }>;

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** @param url a data URL or an https address, which Anthropic itself fetches */
function imagePart(url: string, param: string): FileContent {
  const data = dataUrl(url);
  if (data !== null) {
    if (!imageTypes.includes(data.mediaType))
      throw refusal(param, `holds ${data.mediaType || 'no media type'}`, imageTypes.join(', '));
    return { type: 'file', mediaType: data.mediaType, data: { type: 'data', data: data.base64 } };
  }
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
    throw refusal(param, `is ${JSON.stringify(shortened(url))}`, 'an https address or a base64 data URL');
  return { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL(url) } };
}

function filePart(
  file: { file_data?: string | undefined; filename?: string | undefined },
  param: string,
): FileContent {
  const data = file.file_data === undefined ? null : dataUrl(file.file_data);
  if (data === null || data.mediaType !== 'application/pdf')
    throw refusal(
      `${param}.file_data`,
      data === null ? 'is no base64 data URL' : `holds ${data.mediaType}`,
      'a PDF as data URL: data:application/pdf;base64,…',
    );
  return {
    type: 'file',
    mediaType: data.mediaType,
    data: { type: 'data', data: data.base64 },
    ...(file.filename !== undefined && { filename: file.filename }),
  };
}

function dataUrl(url: string): { mediaType: string; base64: string } | null {
  const head = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 200));
  return head === null ? null : { mediaType: head[1]!.toLowerCase(), base64: url.slice(head[0].length) };
}

function refusal(param: string, what: string, choices: string): UntranslatableRequest {
  return new UntranslatableRequest(
    `'${param}' ${what}; possible with an Anthropic model: ${choices}`,
    param,
    'invalid_value',
  );
}

function shortened(text: string): string {
  return cutText(text, 80);
}

interface CacheOptions {
  readonly providerOptions?: { anthropic: { cacheControl: Record<string, never> } };
}

const ephemeral = { type: 'ephemeral' };

/** The breakpoint of a part, a tool or a message that has one. */
export function cacheOptions(...members: readonly CacheMembers[]): CacheOptions {
  const marked = members.findLast(isMarked);
  if (marked === undefined) return {};
  return optionsOf(marked.cache_control ?? ephemeral);
}

function optionsOf(control: object): CacheOptions {
  return { providerOptions: { anthropic: { cacheControl: control as Record<string, never> } } };
}

function isMarked({ cache_control, prompt_cache_breakpoint }: CacheMembers): boolean {
  return cache_control != null || prompt_cache_breakpoint != null;
}

/**
 * OpenAI caches by itself, Anthropic only up to a breakpoint: a conversation with tools, which goes on, gets one at its end,
 * unless the request sets its own or asks for none but its own.
 */
export function withImplicitBreakpoint(prompt: Prompt, chat: DecodedChat): Prompt {
  if (!chat.tools?.length || chat.prompt_cache_options?.mode === 'explicit') return prompt;
  const parts = chat.messages.flatMap(({ content }): readonly object[] =>
    Array.isArray(content) ? content : [],
  );
  if ([...chat.tools, ...parts].some(isMarked)) return prompt;
  const last = prompt.at(-1);
  return last === undefined ? prompt : [...prompt.slice(0, -1), { ...last, ...optionsOf(ephemeral) }];
}

/** Anthropic takes letters, digits, `_` and `-`; other upstreams of the same conversation may have given ids that it refuses. */
function providerCallId(id: string): string {
  return /^[A-Za-z0-9_-]+$/.test(id) ? id : `call_${sha256(id).slice(0, 24)}`;
}
