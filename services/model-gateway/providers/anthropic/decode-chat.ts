import type * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import {
  AssistantMessage,
  ChatRequest,
  type Message,
  SystemMessage,
  ToolMessage,
  UserMessage,
} from './chat-request.ts';
import { paramOf, UntranslatableRequest } from './invalid-request.ts';
import { checkParameters } from './unsupported-parameters.ts';

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

/** Of what a message may hold, these have no counterpart: dropped, they would change what the model is told. */
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
