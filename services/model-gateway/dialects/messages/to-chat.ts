import * as t from 'io-ts';
import { decode, integerBetween, nullable, oneOf, optional } from '#kit/decode.ts';
import { Conversation, type Part, type TextPart } from '../conversation.ts';
import { checkMembers, type MemberRule, NotTranslatable, shown } from '../not-translatable.ts';

const absent = <C extends t.Mixed>(codec: C) => optional(nullable(codec));
const Opaque = t.record(t.string, t.unknown);

const Typed = t.type({ type: t.string });
const Content = t.union([t.string, t.array(Typed)]);
const Message = t.strict({ role: oneOf(['user', 'assistant', 'system']), content: Content });

const MessagesRequest = t.strict({
  model: t.string,
  max_tokens: integerBetween(1, 10_000_000),
  messages: t.array(Message),
  system: absent(Content),
  stream: absent(t.boolean),
  temperature: absent(t.number),
  top_p: absent(t.number),
  top_k: absent(t.number),
  stop_sequences: absent(t.array(t.string)),
  tools: absent(t.array(Opaque)),
  tool_choice: absent(
    t.strict({
      type: oneOf(['auto', 'any', 'tool', 'none']),
      name: optional(t.string),
      disable_parallel_tool_use: absent(t.boolean),
    }),
  ),
  output_config: absent(Opaque),
});
type MessagesRequest = t.TypeOf<typeof MessagesRequest>;

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

/**
 * Dropped are labels, wishes about caching, speed and price, how much a model thinks, and what a server may take out of a long
 * conversation: an answer without them is still an answer to the request.
 */
const members: Readonly<Record<string, MemberRule>> = {
  ...Object.fromEntries(Object.keys(MessagesRequest.type.props).map((name) => [name, 'translated'])),
  cache_control: 'dropped',
  context_management: 'dropped',
  diagnostics: 'dropped',
  metadata: 'dropped',
  service_tier: 'dropped',
  speed: 'dropped',
  thinking: 'dropped',
  user_profile_id: 'dropped',
  mcp_servers: isEmpty,
};

/**
 * A request of Anthropic's Messages as one of chat completions. Thinking in the history is dropped: its signature is for the model
 * that thought it.
 * @throws NotTranslatable naming the field; InvalidInput for what is no request
 */
export function toChat(request: Readonly<Record<string, unknown>>): Record<string, unknown> {
  checkMembers(request, members);
  const decoded = decode(MessagesRequest, request, 'the request');
  const { model, max_tokens, stream, temperature, top_p, top_k, stop_sequences: stop } = decoded;
  return {
    model,
    messages: conversationOf(decoded).messages(),
    max_tokens,
    ...(stream === true && { stream: true, stream_options: { include_usage: true } }),
    ...(temperature != null && { temperature }),
    ...(top_p != null && { top_p }),
    ...(top_k != null && { top_k }),
    ...(stop != null && stop.length > 0 && { stop }),
    ...toolsOf(decoded),
    ...formatOf(decoded.output_config ?? {}),
  };
}

function conversationOf({ system, messages }: MessagesRequest): Conversation {
  const conversation = new Conversation();
  conversation.system(systemText(system ?? '', 'system'));
  for (const [index, { role, content }] of messages.entries()) {
    const at = `messages[${index}].content`;
    if (role === 'system') conversation.system(systemText(content, at));
    else if (role === 'user') addUser(conversation, content, at);
    else addAssistant(conversation, content, at);
  }
  if (conversation.lastRole === 'assistant')
    throw new NotTranslatable(
      `messages[${messages.length - 1}].role`,
      '"assistant"',
      'end with a message of the user: an answer cannot be continued from its beginning',
    );
  return conversation;
}

function systemText(content: t.TypeOf<typeof Content>, at: string): string {
  if (typeof content === 'string') return content;
  return content.map((block, index) => textOf(block, `${at}[${index}]`).text).join('\n\n');
}

function addUser(conversation: Conversation, content: t.TypeOf<typeof Content>, at: string): void {
  if (typeof content === 'string') {
    conversation.user([{ type: 'text', text: content }]);
    return;
  }
  for (const [index, block] of content.entries()) {
    const place = `${at}[${index}]`;
    if (block.type === 'tool_result') addResult(conversation, block, place);
    else conversation.user([partOf(block, place)]);
  }
}

const ToolResult = t.strict({
  tool_use_id: t.string,
  is_error: absent(t.boolean),
  content: absent(Content),
});

function addResult(conversation: Conversation, block: unknown, at: string): void {
  const { tool_use_id: id, is_error: failed, content } = decode(ToolResult, block, at);
  const parts: Part[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : (content ?? []).map((part, index) => partOf(part, `${at}.content[${index}]`));
  const marked: Part[] = failed === true ? [{ type: 'text', text: 'Error:' }, ...parts] : parts;
  conversation.result(id, marked, `${at}.tool_use_id`);
}

const ToolUse = t.strict({ id: t.string, name: t.string, input: t.unknown });

function addAssistant(conversation: Conversation, content: t.TypeOf<typeof Content>, at: string): void {
  if (typeof content === 'string') {
    conversation.assistant(content);
    return;
  }
  // Blocks of text are pieces of one text, split where a source is cited.
  let text = '';
  const calls: t.TypeOf<typeof ToolUse>[] = [];
  for (const [index, block] of content.entries()) {
    const place = `${at}[${index}]`;
    if (block.type === 'text') text += textOf(block, place).text;
    else if (block.type === 'tool_use') calls.push(decode(ToolUse, block, place));
    else if (block.type !== 'thinking' && block.type !== 'redacted_thinking')
      throw unknownBlock(block, place);
  }
  conversation.assistant(text);
  for (const { id, name, input } of calls) conversation.call(id, name, JSON.stringify(input ?? {}));
}

const Text = t.strict({ type: t.literal('text'), text: t.string });

function textOf(block: { readonly type: string }, at: string): TextPart {
  if (block.type !== 'text') throw unknownBlock(block, at);
  return decode(Text, block, at);
}

const Source = t.type({ type: t.string });
const Base64Source = t.strict({ media_type: t.string, data: t.string });
const UrlSource = t.strict({ url: t.string });
const Image = t.strict({ source: Source });

function partOf(block: { readonly type: string }, at: string): Part {
  if (block.type !== 'image') return textOf(block, at);
  const { source } = decode(Image, block, at);
  if (source.type === 'url') {
    const { url } = decode(UrlSource, source, `${at}.source`);
    return { type: 'image_url', image_url: { url } };
  }
  if (source.type !== 'base64')
    throw new NotTranslatable(
      `${at}.source.type`,
      shown(source.type),
      'give the picture as base64 or by its address',
    );
  const { media_type, data } = decode(Base64Source, source, `${at}.source`);
  return { type: 'image_url', image_url: { url: `data:${media_type};base64,${data}` } };
}

function unknownBlock({ type }: { readonly type: string }, at: string): NotTranslatable {
  return new NotTranslatable(
    `${at}.type`,
    shown(type),
    'give text, pictures, and calls and results of tools',
  );
}

const Tool = t.strict({
  name: t.string,
  description: absent(t.string),
  input_schema: Opaque,
  strict: absent(t.boolean),
});

function toolsOf({ tools, tool_choice: choice }: MessagesRequest): Record<string, unknown> {
  if (tools == null || tools.length === 0) return {};
  const functions = tools.map((tool, index) => functionOf(tool, `tools[${index}]`));
  return {
    tools: functions,
    ...(choice != null && { tool_choice: choiceOf(choice) }),
    ...(choice?.disable_parallel_tool_use === true && { parallel_tool_calls: false }),
  };
}

/** Where and when a tool is loaded is dropped; that a server calls it is not. */
function functionOf(tool: Readonly<Record<string, unknown>>, at: string): Record<string, unknown> {
  const { type, allowed_callers: callers } = tool;
  if (type != null && type !== 'custom')
    throw new NotTranslatable(`${at}.type`, shown(type), 'give a tool with a name and an input_schema');
  if (Array.isArray(callers) && !callers.includes('direct'))
    throw new NotTranslatable(
      `${at}.allowed_callers`,
      'without "direct"',
      'let the model call the tool itself',
    );
  const { name, description, input_schema: parameters, strict } = decode(Tool, tool, at);
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      parameters,
      ...(strict === true && { strict }),
    },
  };
}

function choiceOf({ type, name }: NonNullable<MessagesRequest['tool_choice']>): unknown {
  if (type === 'tool') return { type: 'function', function: { name: name ?? '' } };
  return type === 'any' ? 'required' : type;
}

const Format = t.strict({ type: t.literal('json_schema'), schema: Opaque });

/** `effort` is dropped, as all that says how much a model thinks. */
function formatOf(output: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { format, effort: _dropped, ...others } = output;
  const [other] = Object.keys(others).filter((name) => others[name] != null);
  if (other !== undefined)
    throw new NotTranslatable(`output_config.${other}`, shown(others[other]), 'leave it out');
  if (format == null) return {};
  const { schema } = decode(Format, format, 'output_config.format');
  return {
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
  };
}
