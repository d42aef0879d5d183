import * as t from 'io-ts';
import { decode, integerBetween, nullable, oneOf, optional } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { paramOf, UntranslatableRequest } from './failures.ts';

/** The parts of OpenAI's chat completion request that have a meaning for Anthropic. */

const Opaque = t.record(t.string, t.unknown);

/** A breakpoint for prompt caching: OpenAI's own, and Anthropic's, which clients of several gateways write in its place. */
const cacheMembers = {
  prompt_cache_breakpoint: optional(nullable(Opaque)),
  cache_control: optional(nullable(Opaque)),
};
const CacheMembers = t.strict(cacheMembers);
export type CacheMembers = Partial<t.TypeOf<typeof CacheMembers>>;

const TextPart = t.strict({ type: t.literal('text'), text: t.string, ...cacheMembers });
const ImagePart = t.strict({
  type: t.literal('image_url'),
  image_url: t.strict({ url: t.string }),
  ...cacheMembers,
});
const FilePart = t.strict({
  type: t.literal('file'),
  file: t.strict({ file_data: optional(t.string), filename: optional(t.string) }),
  ...cacheMembers,
});
const RefusalPart = t.strict({ type: t.literal('refusal'), refusal: t.string });

type TextPart = t.TypeOf<typeof TextPart>;
export type UserPart = TextPart | t.TypeOf<typeof ImagePart> | t.TypeOf<typeof FilePart>;
export type AssistantPart = TextPart | t.TypeOf<typeof RefusalPart>;

export const ToolCall = t.strict({
  id: t.string,
  type: t.literal('function'),
  function: t.strict({ name: t.string, arguments: t.string }),
});
export type ToolCall = t.TypeOf<typeof ToolCall>;

const textContent = t.union([t.string, t.array(TextPart)]);

const SystemMessage = t.strict({ role: oneOf(['system', 'developer']), content: textContent });
const UserMessage = t.strict({
  role: t.literal('user'),
  content: t.union([t.string, t.array(t.union([TextPart, ImagePart, FilePart]))]),
});
const AssistantMessage = t.strict({
  role: t.literal('assistant'),
  content: optional(nullable(t.union([t.string, t.array(t.union([TextPart, RefusalPart]))]))),
  refusal: optional(nullable(t.string)),
  tool_calls: optional(nullable(t.array(ToolCall))),
});
const ToolMessage = t.strict({
  role: t.literal('tool'),
  tool_call_id: t.string,
  content: textContent,
});
export type Message =
  | t.TypeOf<typeof SystemMessage>
  | t.TypeOf<typeof UserMessage>
  | t.TypeOf<typeof AssistantMessage>
  | t.TypeOf<typeof ToolMessage>;

export const Tool = t.strict({
  type: t.literal('function'),
  function: t.strict({
    name: t.string,
    description: optional(nullable(t.string)),
    parameters: optional(nullable(Opaque)),
    strict: optional(nullable(t.boolean)),
  }),
  ...cacheMembers,
});
export type Tool = t.TypeOf<typeof Tool>;

const ToolChoice = t.union([
  oneOf(['auto', 'none', 'required']),
  t.strict({ type: t.literal('function'), function: t.strict({ name: t.string }) }),
]);

const ResponseFormat = t.union([
  t.strict({ type: t.literal('text') }),
  t.strict({ type: t.literal('json_object') }),
  t.strict({
    type: t.literal('json_schema'),
    json_schema: t.strict({
      name: t.string,
      description: optional(nullable(t.string)),
      schema: optional(nullable(Opaque)),
    }),
  }),
]);

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const absent = <C extends t.Mixed>(codec: C) => optional(nullable(codec));
const TokenLimit = integerBetween(1, 10_000_000);

/** `messages` are decoded one by one, by role. */
const ChatRequest = t.strict({
  messages: t.array(t.unknown),
  max_tokens: absent(TokenLimit),
  max_completion_tokens: absent(TokenLimit),
  temperature: absent(t.number),
  top_p: absent(t.number),
  top_k: absent(t.number),
  stop: absent(t.union([t.string, t.array(t.string)])),
  tools: absent(t.array(Tool)),
  tool_choice: absent(ToolChoice),
  parallel_tool_calls: absent(t.boolean),
  response_format: absent(ResponseFormat),
  reasoning_effort: absent(oneOf(reasoningEfforts)),
  user: absent(t.string),
  safety_identifier: absent(t.string),
  service_tier: absent(oneOf(['auto', 'default'])),
  prompt_cache_options: absent(Opaque),
});
type ChatRequest = t.TypeOf<typeof ChatRequest>;

export interface DecodedChat extends Omit<ChatRequest, 'messages'> {
  readonly messages: readonly Message[];
}

const codecs: Readonly<Record<string, t.Decoder<unknown, Message>>> = {
  system: SystemMessage,
  developer: SystemMessage,
  user: UserMessage,
  assistant: AssistantMessage,
  tool: ToolMessage,
};

/** @throws UntranslatableRequest naming the member, what it is and what it must be */
export function decodeChat(request: Readonly<Record<string, unknown>>): DecodedChat {
  checkParameters(request);
  checkFormat(request.response_format);
  const chat = decoded(ChatRequest, request, '');
  if (chat.messages.length === 0)
    throw new UntranslatableRequest("'messages' must not be empty", 'messages', 'invalid_value');
  return { ...chat, messages: chat.messages.map(decodeMessage) };
}

function decodeMessage(message: unknown, index: number): Message {
  const at = `messages[${index}]`;
  if (typeof message !== 'object' || message === null)
    throw new UntranslatableRequest(`'${at}' must be an object`, at, 'invalid_type');
  const { role } = message as { role?: unknown };
  const codec = typeof role === 'string' && Object.hasOwn(codecs, role) ? codecs[role] : undefined;
  if (codec === undefined) {
    const choices = Object.keys(codecs).join(', ');
    throw new UntranslatableRequest(
      `'${at}.role' is ${JSON.stringify(role)}: must be one of ${choices}`,
      `${at}.role`,
      'invalid_value',
    );
  }
  refuseUnknown(message, at);
  return decoded(codec, message, `/messages/${index}`);
}

const formats = ['text', 'json_object', 'json_schema'];

/** Told by its type, which says which of the forms was meant. */
function checkFormat(format: unknown): void {
  if (format === undefined || format === null) return;
  if (typeof format !== 'object' || Array.isArray(format))
    throw new UntranslatableRequest("'response_format' must be an object", 'response_format', 'invalid_type');
  const { type, json_schema: described } = format as { type?: unknown; json_schema?: unknown };
  const refuse = (param: string, value: unknown, rule: string): never => {
    const is = value === undefined ? 'is missing' : `is ${JSON.stringify(value).slice(0, 80)}`;
    throw new UntranslatableRequest(`'${param}' ${is}: must be ${rule}`, param, 'invalid_value');
  };
  if (!formats.includes(type as string)) refuse('response_format.type', type, `one of ${formats.join(', ')}`);
  if (type !== 'json_schema') return;
  if (typeof described !== 'object' || described === null || Array.isArray(described))
    refuse('response_format.json_schema', described, 'an object with name and schema');
  const { name, description, schema } = described as Record<string, unknown>;
  if (typeof name !== 'string') refuse('response_format.json_schema.name', name, 'a text');
  if (description != null && typeof description !== 'string')
    refuse('response_format.json_schema.description', description, 'a text');
  if (schema != null && (typeof schema !== 'object' || Array.isArray(schema)))
    refuse('response_format.json_schema.schema', schema, 'a JSON schema, which is an object');
}

const parts = new Set(['text', 'image_url', 'file', 'refusal']);

/** Of what a message may hold, these have no counterpart: dropped, they would change what the model reads. */
function refuseUnknown(message: object, at: string): void {
  const { role, name, audio, function_call, content } = message as Record<string, unknown>;
  if (name !== undefined && name !== null && role !== 'tool')
    throw new UntranslatableRequest(
      `'${at}.name' is not possible with an Anthropic model: write it into the content`,
      `${at}.name`,
    );
  for (const [member, value] of Object.entries({ audio, function_call })) {
    if (value !== undefined && value !== null)
      throw new UntranslatableRequest(
        `'${at}.${member}' is not possible with an Anthropic model`,
        `${at}.${member}`,
      );
  }
  if (!Array.isArray(content)) return;
  for (const [index, part] of content.entries()) {
    const type = typeof part === 'object' && part !== null ? (part as { type?: unknown }).type : undefined;
    if (typeof type !== 'string' || parts.has(type)) continue;
    const param = `${at}.content[${index}].type`;
    throw new UntranslatableRequest(
      `'${param}' is ${JSON.stringify(type)}, which is not possible with an Anthropic model: must be one of ${[...parts].join(', ')}`,
      param,
    );
  }
}

function decoded<A>(codec: t.Decoder<unknown, A>, value: unknown, pointer: string): A {
  try {
    return decode(codec, value, 'the request');
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    const [first] = error.errors;
    if (first === undefined) throw error;
    const param = paramOf(pointer + first.pointer);
    throw new UntranslatableRequest(`'${param}' ${first.detail}`, param, 'invalid_value');
  }
}

/** Members that are translated, or that concern the gateway alone. */
const translated = new Set(['model', 'stream', 'stream_options', ...Object.keys(ChatRequest.type.props)]);

/** Members that OpenAI calls a best effort, a label or a wish about caching: an answer without them is still an answer to the request. */
const hints = new Set([
  'seed',
  'metadata',
  'store',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prediction',
]);

/** Members that say nothing with these values, and have no counterpart with any other. */
const neutral: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  logit_bias: (value) => typeof value === 'object' && Object.keys(value as object).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((item) => item === 'text'),
  verbosity: (value) => value === 'medium',
  functions: (value) => Array.isArray(value) && value.length === 0,
};

const advice: Readonly<Record<string, string>> = {
  n: 'ask once for each answer, n must be 1',
  functions: 'give tools in its place',
  function_call: 'give tool_choice in its place',
  verbosity: 'only "medium", the default, is possible',
  modalities: 'only ["text"] is possible',
};

/**
 * Nothing that a request asks for is dropped in silence.
 * @throws UntranslatableRequest that names the first member with no counterpart
 */
function checkParameters(request: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || translated.has(name) || hints.has(name)) continue;
    if (Object.hasOwn(neutral, name) && neutral[name]!(value)) continue;
    const known = Object.hasOwn(neutral, name) || Object.hasOwn(advice, name) || neverPossible.has(name);
    const why = Object.hasOwn(advice, name) ? `: ${advice[name]}` : '';
    throw known
      ? new UntranslatableRequest(`'${name}' is not possible with an Anthropic model${why}`, name)
      : new UntranslatableRequest(
          `Unrecognized request argument supplied: ${name}`,
          name,
          'unknown_parameter',
        );
  }
}

const neverPossible = new Set(['audio', 'web_search_options', 'moderation']);
