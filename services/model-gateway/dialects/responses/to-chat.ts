import * as t from 'io-ts';
import { decode, integerBetween, nullable, optional } from '#kit/decode.ts';
import { Conversation, type Part } from '../conversation.ts';
import { checkMembers, type MemberRule, NotTranslatable, shown } from '../not-translatable.ts';
import { localShellName, nameOf, toolTable } from './tools.ts';

const absent = <C extends t.Mixed>(codec: C) => optional(nullable(codec));
const Opaque = t.record(t.string, t.unknown);
type Opaque = t.TypeOf<typeof Opaque>;

const ResponsesRequest = t.strict({
  model: t.string,
  input: t.union([t.string, t.array(Opaque)]),
  instructions: absent(t.string),
  stream: absent(t.boolean),
  max_output_tokens: absent(integerBetween(1, 10_000_000)),
  temperature: absent(t.number),
  top_p: absent(t.number),
  tools: absent(t.array(Opaque)),
  tool_choice: absent(t.union([t.string, Opaque])),
  parallel_tool_calls: absent(t.boolean),
  text: absent(Opaque),
});
type ResponsesRequest = t.TypeOf<typeof ResponsesRequest>;

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

/**
 * Dropped are labels, wishes about caching and price, how much a model thinks and how wordy it is, what counts the calls of tools
 * that the server runs, and what a server may cut: an answer without them is still an answer to the request.
 */
const members: Readonly<Record<string, MemberRule>> = {
  ...Object.fromEntries(Object.keys(ResponsesRequest.type.props).map((name) => [name, 'translated'])),
  client_metadata: 'dropped',
  max_tool_calls: 'dropped',
  metadata: 'dropped',
  prompt_cache_key: 'dropped',
  prompt_cache_options: 'dropped',
  prompt_cache_retention: 'dropped',
  reasoning: 'dropped',
  safety_identifier: 'dropped',
  service_tier: 'dropped',
  stream_options: 'dropped',
  truncation: 'dropped',
  user: 'dropped',
  background: (value) => value === false,
  context_management: isEmpty,
  // Thoughts that only the upstream could read come with no answer of ours.
  include: (value) => Array.isArray(value) && value.every((one) => one === 'reasoning.encrypted_content'),
  store: (value) => value === false,
  top_logprobs: (value) => value === 0,
};

/**
 * A request of OpenAI's Responses as one of chat completions. Reasoning in the history is dropped: it is for the model that
 * thought it.
 * @throws NotTranslatable naming the field; InvalidInput for what is no request
 */
export function toChat(request: Readonly<Record<string, unknown>>): Record<string, unknown> {
  checkMembers(request, members);
  const decoded = decode(ResponsesRequest, request, 'the request');
  const { model, stream, max_output_tokens: limit, temperature, top_p, text } = decoded;
  return {
    model,
    messages: conversationOf(decoded).messages(),
    ...(limit != null && { max_tokens: limit }),
    ...(stream === true && { stream: true, stream_options: { include_usage: true } }),
    ...(temperature != null && { temperature }),
    ...(top_p != null && { top_p }),
    ...toolsOf(decoded),
    ...formatOf(text ?? {}),
  };
}

function conversationOf({ instructions, input }: ResponsesRequest): Conversation {
  const conversation = new Conversation();
  conversation.system(instructions ?? '');
  if (typeof input === 'string') conversation.user([{ type: 'text', text: input }]);
  else for (const [index, item] of input.entries()) addItem(conversation, item, `input[${index}]`);
  return conversation;
}

type AddItem = (conversation: Conversation, item: Opaque, at: string) => void;

const Called = t.strict({ call_id: t.string, name: t.string, namespace: absent(t.string) });
const FunctionCall = t.intersection([Called, t.strict({ arguments: t.string })]);
const CustomCall = t.intersection([Called, t.strict({ input: t.string })]);
const ShellCall = t.strict({ call_id: t.string, action: Opaque });
const Output = t.union([t.string, t.array(Opaque)]);
const CallOutput = t.strict({ call_id: t.string, output: Output });
const ShellOutput = t.strict({ call_id: optional(t.string), id: optional(t.string), output: Output });

const items: Readonly<Record<string, AddItem>> = {
  message: addMessage,
  reasoning: () => {},
  function_call(conversation, item, at) {
    const { call_id, arguments: text, name, namespace = null } = decode(FunctionCall, item, at);
    conversation.call(call_id, nameOf({ name, namespace }), text);
  },
  custom_tool_call(conversation, item, at) {
    const { call_id, input, name, namespace = null } = decode(CustomCall, item, at);
    conversation.call(call_id, nameOf({ name, namespace }), JSON.stringify({ input }));
  },
  local_shell_call(conversation, item, at) {
    const { call_id, action } = decode(ShellCall, item, at);
    const { type: _exec, ...input } = action;
    conversation.call(call_id, localShellName, JSON.stringify(input));
  },
  function_call_output: addOutput,
  custom_tool_call_output: addOutput,
  local_shell_call_output(conversation, item, at) {
    const { call_id, id = '', output } = decode(ShellOutput, item, at);
    conversation.result(call_id ?? id, partsOf(output, `${at}.output`), `${at}.id`);
  },
};

function addItem(conversation: Conversation, item: Opaque, at: string): void {
  const { type = 'message' } = item;
  const add = typeof type === 'string' && Object.hasOwn(items, type) ? items[type]! : null;
  if (add === null)
    throw new NotTranslatable(
      `${at}.type`,
      shown(type),
      'send the conversation itself: messages, and calls and outputs of functions and custom tools',
    );
  add(conversation, item, at);
}

function addOutput(conversation: Conversation, item: Opaque, at: string): void {
  const { call_id, output } = decode(CallOutput, item, at);
  conversation.result(call_id, partsOf(output, `${at}.output`), `${at}.call_id`);
}

const Message = t.strict({ role: t.string, content: t.union([t.string, t.array(Opaque)]) });

type AddMessage = (conversation: Conversation, parts: readonly Part[], at: string) => void;

const roles: Readonly<Record<string, AddMessage>> = {
  user: (conversation, parts) => conversation.user(parts),
  assistant: (conversation, parts, at) => conversation.assistant(textOf(parts, at)),
  system: (conversation, parts, at) => conversation.system(textOf(parts, at)),
  developer: (conversation, parts, at) => conversation.system(textOf(parts, at)),
};

function addMessage(conversation: Conversation, item: Opaque, at: string): void {
  const { role, content } = decode(Message, item, at);
  const add = Object.hasOwn(roles, role) ? roles[role]! : null;
  if (add === null)
    throw new NotTranslatable(`${at}.role`, shown(role), `use one of ${Object.keys(roles).join(', ')}`);
  add(conversation, partsOf(content, `${at}.content`), `${at}.content`);
}

function textOf(parts: readonly Part[], at: string): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.text;
      throw new NotTranslatable(at, 'with a picture', 'give pictures in messages of the user');
    })
    .join('\n\n');
}

function partsOf(content: t.TypeOf<typeof Output>, at: string): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, index) => partOf(part, `${at}[${index}]`));
}

const textTypes = new Set(['input_text', 'output_text', 'text']);
const Text = t.strict({ text: t.string });
const Refusal = t.strict({ refusal: t.string });
const Image = t.strict({ image_url: absent(t.string), file_id: absent(t.string), detail: absent(t.string) });

function partOf(part: Opaque, at: string): Part {
  const { type } = part;
  if (typeof type === 'string' && textTypes.has(type))
    return { type: 'text', text: decode(Text, part, at).text };
  if (type === 'refusal') return { type: 'text', text: decode(Refusal, part, at).refusal };
  if (type !== 'input_image') throw new NotTranslatable(`${at}.type`, shown(type), 'give text or pictures');
  const { image_url: url, file_id: file, detail } = decode(Image, part, at);
  if (url == null)
    throw new NotTranslatable(
      `${at}.file_id`,
      shown(file),
      'give the picture as image_url: a data URL or its address',
    );
  // "original" is a word of Responses alone.
  const size = detail === 'original' ? 'high' : detail;
  return { type: 'image_url', image_url: { url, ...(size != null && { detail: size }) } };
}

function toolsOf({ tools: given, tool_choice: choice, parallel_tool_calls: parallel }: ResponsesRequest) {
  const { tools, origins } = toolTable(given);
  if (tools.length === 0) return {};
  const { allowed, mode } = choiceOf(choice ?? 'auto', [...origins.keys()]);
  return {
    tools: tools.filter((tool) => allowed.includes(tool.function.name)),
    ...(mode !== 'auto' && { tool_choice: mode }),
    ...(parallel === false && { parallel_tool_calls: false }),
  };
}

interface Choice {
  /** Names of the tools that the model is shown. */
  readonly allowed: readonly string[];
  readonly mode: unknown;
}

const NamedTool = t.strict({ name: t.string, namespace: absent(t.string) });
const Allowed = t.strict({ mode: t.string, tools: t.array(Opaque) });

function choiceOf(choice: string | Opaque, names: readonly string[]): Choice {
  if (typeof choice === 'string') return { allowed: names, mode: choice };
  if (choice.type === 'allowed_tools') {
    const { mode, tools } = decode(Allowed, choice, 'tool_choice');
    return { allowed: tools.map((tool, index) => named(tool, `tool_choice.tools[${index}]`)), mode };
  }
  return { allowed: names, mode: { type: 'function', function: { name: named(choice, 'tool_choice') } } };
}

function named(choice: Opaque, at: string): string {
  if (choice.type === 'local_shell') return localShellName;
  if (choice.type !== 'function' && choice.type !== 'custom')
    throw new NotTranslatable(`${at}.type`, shown(choice.type), 'choose a function or a custom tool');
  const { name, namespace = null } = decode(NamedTool, choice, at);
  return nameOf({ name, namespace });
}

const JsonFormat = t.strict({
  name: t.string,
  description: absent(t.string),
  schema: Opaque,
  strict: absent(t.boolean),
});

/** `verbosity` is dropped. */
function formatOf({ format, verbosity: _dropped, ...others }: Opaque): Record<string, unknown> {
  const [other] = Object.keys(others).filter((name) => others[name] != null);
  if (other !== undefined) throw new NotTranslatable(`text.${other}`, shown(others[other]), 'leave it out');
  if (format == null) return {};
  const { type } = decode(t.type({ type: t.string }), format, 'text.format');
  if (type === 'text') return {};
  if (type === 'json_object') return { response_format: { type } };
  if (type !== 'json_schema')
    throw new NotTranslatable('text.format.type', shown(type), 'use text, json_schema or json_object');
  const { name, description, schema, strict } = decode(JsonFormat, format, 'text.format');
  const described = { ...(description != null && { description }), ...(strict != null && { strict }) };
  return { response_format: { type, json_schema: { name, schema, ...described } } };
}
