import * as t from 'io-ts';
import { integerBetween, nullable, oneOf, optional } from '#kit/decode.ts';

/** The parts of OpenAI's chat completion request that have a meaning for Anthropic. */

const Opaque = t.record(t.string, t.unknown);

/** A breakpoint for prompt caching: OpenAI's own, and Anthropic's, which clients of several gateways write in its place. */
const cacheMembers = {
  prompt_cache_breakpoint: optional(nullable(Opaque)),
  cache_control: optional(nullable(Opaque)),
};
export interface CacheMembers {
  readonly prompt_cache_breakpoint?: Record<string, unknown> | null | undefined;
  readonly cache_control?: Record<string, unknown> | null | undefined;
}

export const TextPart = t.strict({ type: t.literal('text'), text: t.string, ...cacheMembers });
export const ImagePart = t.strict({
  type: t.literal('image_url'),
  image_url: t.strict({ url: t.string }),
  ...cacheMembers,
});
export const FilePart = t.strict({
  type: t.literal('file'),
  file: t.strict({ file_data: optional(t.string), filename: optional(t.string) }),
  ...cacheMembers,
});
export const RefusalPart = t.strict({ type: t.literal('refusal'), refusal: t.string });

export type TextPart = t.TypeOf<typeof TextPart>;
export type UserPart = TextPart | t.TypeOf<typeof ImagePart> | t.TypeOf<typeof FilePart>;
export type AssistantPart = TextPart | t.TypeOf<typeof RefusalPart>;

export const ToolCall = t.strict({
  id: t.string,
  type: t.literal('function'),
  function: t.strict({ name: t.string, arguments: t.string }),
});
export type ToolCall = t.TypeOf<typeof ToolCall>;

const textContent = t.union([t.string, t.array(TextPart)]);

export const SystemMessage = t.strict({ role: oneOf(['system', 'developer']), content: textContent });
export const UserMessage = t.strict({
  role: t.literal('user'),
  content: t.union([t.string, t.array(t.union([TextPart, ImagePart, FilePart]))]),
});
export const AssistantMessage = t.strict({
  role: t.literal('assistant'),
  content: optional(nullable(t.union([t.string, t.array(t.union([TextPart, RefusalPart]))]))),
  refusal: optional(nullable(t.string)),
  tool_calls: optional(nullable(t.array(ToolCall))),
});
export const ToolMessage = t.strict({
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
export const ChatRequest = t.strict({
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
export type ChatRequest = t.TypeOf<typeof ChatRequest>;
