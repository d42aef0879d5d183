import * as t from 'io-ts';
import { choiceBy, decode, integerBetween, nullable, oneOf, optional } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { isObject } from '#kit/is-object.ts';
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

const ToolCall = t.strict({
  id: t.string,
  type: t.literal('function'),
  function: t.strict({ name: t.string, arguments: t.string }),
});

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
const Message = choiceBy('role', 'message', {
  system: { message: SystemMessage },
  developer: { message: SystemMessage },
  user: { message: UserMessage },
  assistant: { message: AssistantMessage },
  tool: { message: ToolMessage },
});
export type Message = t.TypeOf<typeof Message>;

const Tool = t.strict({
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

const ResponseFormat = choiceBy('type', 'format', {
  text: { format: t.strict({ type: t.literal('text') }) },
  json_object: { format: t.strict({ type: t.literal('json_object') }) },
  json_schema: {
    format: t.strict({
      type: t.literal('json_schema'),
      json_schema: t.strict({
        name: t.string,
        description: optional(nullable(t.string)),
        schema: optional(nullable(Opaque)),
      }),
    }),
  },
});

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const absent = <C extends t.Mixed>(codec: C) => optional(nullable(codec));
const TokenLimit = integerBetween(1, 10_000_000);

const ChatRequest = t.strict({
  messages: t.array(Message),
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
export type DecodedChat = t.TypeOf<typeof ChatRequest>;

/** @throws UntranslatableRequest naming the member, what it is and what it must be */
export function decodeChat(request: Readonly<Record<string, unknown>>): DecodedChat {
  checkParameters(request);
  if (Array.isArray(request.messages)) {
    for (const [index, message] of request.messages.entries())
      if (isObject(message)) refuseUnknown(message, `messages[${index}]`);
  }
  const chat = decoded(request);
  if (chat.messages.length > 0) return chat;
  throw new UntranslatableRequest("'messages' must not be empty", 'messages', 'invalid_value');
}

const parts = new Set(['text', 'image_url', 'file', 'refusal']);

/** Of what a message may hold, these have no counterpart: dropped, they would change what the model reads. */
function refuseUnknown(message: Record<string, unknown>, at: string): void {
  const { role, name, audio, function_call, content } = message;
  if (name != null && role !== 'tool')
    throw new UntranslatableRequest(
      `'${at}.name' is not possible with an Anthropic model: write it into the content`,
      `${at}.name`,
    );
  for (const [member, value] of Object.entries({ audio, function_call })) {
    if (value != null)
      throw new UntranslatableRequest(
        `'${at}.${member}' is not possible with an Anthropic model`,
        `${at}.${member}`,
      );
  }
  if (!Array.isArray(content)) return;
  for (const [index, part] of content.entries()) {
    const type = part?.type;
    if (typeof type !== 'string' || parts.has(type)) continue;
    const param = `${at}.content[${index}].type`;
    throw new UntranslatableRequest(
      `'${param}' is ${JSON.stringify(type)}, which is not possible with an Anthropic model: must be one of ${[...parts].join(', ')}`,
      param,
    );
  }
}

function decoded(request: unknown): DecodedChat {
  try {
    return decode(ChatRequest, request, 'the request');
  } catch (error) {
    const first = error instanceof InvalidInput ? error.errors[0] : undefined;
    if (first === undefined) throw error;
    const param = paramOf(first.pointer);
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
    if (value == null || translated.has(name) || hints.has(name)) continue;
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
