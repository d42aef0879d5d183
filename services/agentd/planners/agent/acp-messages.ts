import * as t from 'io-ts';
import { matches, nullable, optional } from '#kit/decode.ts';

/**
 * What is read of an agent's messages. Everything else in them is passed over: agents are newer and older than this, and none is
 * trusted to keep to the protocol.
 */

const Text = optional(nullable(t.string));

/** Answer of `initialize`. */
export const InitializeReply = t.strict({
  protocolVersion: t.number,
  agentInfo: optional(nullable(t.strict({ name: t.string, title: Text, version: Text }))),
  agentCapabilities: optional(
    nullable(t.strict({ mcpCapabilities: optional(nullable(t.strict({ http: optional(t.boolean) }))) })),
  ),
  authMethods: optional(nullable(t.array(t.strict({ id: t.string })))),
});

/** Answer of `session/new`. */
export const NewSessionReply = t.strict({
  sessionId: t.string,
  modes: optional(nullable(t.strict({ availableModes: t.array(t.strict({ id: t.string })) }))),
});

/** Answer of `session/prompt`. */
export const PromptReply = t.strict({ stopReason: t.string });

const ToolContent = t.union([
  t.strict({ type: t.literal('diff'), path: t.string }),
  t.strict({ type: t.string }),
]);
export const ToolCall = t.strict({
  toolCallId: t.string,
  title: Text,
  name: Text,
  kind: Text,
  status: Text,
  locations: optional(nullable(t.array(t.strict({ path: t.string })))),
  content: optional(nullable(t.array(ToolContent))),
  rawInput: t.unknown,
});
export type ToolCall = t.TypeOf<typeof ToolCall>;

export type PermissionQuestion = t.TypeOf<typeof PermissionQuestion>;
export const PermissionQuestion = t.strict({
  toolCall: ToolCall,
  options: t.array(t.strict({ optionId: t.string, kind: t.string })),
});

export const ReadFile = t.strict({
  path: t.string,
  /** From 1. */
  line: optional(nullable(t.number)),
  limit: optional(nullable(t.number)),
});
export const WriteFile = t.strict({ path: t.string, content: t.string });

const Chunk = t.strict({
  sessionUpdate: t.string,
  messageId: Text,
  content: t.strict({ type: t.literal('text'), text: t.string }),
});
const AnyUpdate = t.strict({
  update: t.intersection([t.UnknownRecord, t.type({ sessionUpdate: t.string })]),
});

export type AgentUpdate =
  | {
      readonly type: 'message' | 'thought';
      readonly text: string;
      /** Of the message that the text belongs to; null where the agent names none, as for notices of its own. */
      readonly message: string | null;
    }
  | { readonly type: 'tool'; readonly call: ToolCall };

const chunkTypes: Readonly<Record<string, 'message' | 'thought'>> = {
  agent_message_chunk: 'message',
  agent_thought_chunk: 'thought',
};

/** null for updates that say nothing of what is kept. */
export function agentUpdate(params: unknown): AgentUpdate | null {
  if (!AnyUpdate.is(params)) return null;
  const { update } = params;
  const type = chunkTypes[update.sessionUpdate];
  if (type !== undefined) {
    if (!matches(Chunk, update)) return null;
    const { content, messageId } = update as unknown as t.TypeOf<typeof Chunk>;
    return { type, text: content.text, message: messageId ?? null };
  }
  if (update.sessionUpdate !== 'tool_call' && update.sessionUpdate !== 'tool_call_update') return null;
  return matches(ToolCall, update) ? { type: 'tool', call: update as unknown as ToolCall } : null;
}
