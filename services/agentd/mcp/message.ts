import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  PingRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { isObject } from '#kit/config/merge.ts';
import { parseJson } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import { cutText } from '#kit/redaction/cut-text.ts';

/** A message that the protocol's library can take, or the answer to one that it cannot: its own texts show its internals. */
export type ReadMessage = { readonly message: JSONRPCMessage } | { readonly refusal: Refusal };

export interface Refusal {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/** Numbers of JSON-RPC 2.0. */
export const rpcErrors = {
  notJson: -32700,
  notMessage: -32600,
  noMethod: -32601,
  badParams: -32602,
} as const;

interface Schema {
  safeParse(value: unknown): {
    readonly success: boolean;
    readonly error?: { readonly issues: readonly Issue[] };
  };
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly expected?: string;
}

/** Requests that a client may send. */
const requests: Readonly<Record<string, Schema>> = {
  initialize: InitializeRequestSchema,
  ping: PingRequestSchema,
  'tools/list': ListToolsRequestSchema,
  'tools/call': CallToolRequestSchema,
};

/** Members that are null count as left out, except in arguments of a tool, which are the tool's to read. */
export function readMessage(text: string): ReadMessage {
  let value: unknown;
  try {
    value = parseJson(text, 'the message');
  } catch (error) {
    return refusal(null, 'notJson', `${messageOf(error)}; send one message of JSON-RPC 2.0`);
  }
  if (Array.isArray(value))
    return refusal(null, 'notMessage', 'a request has one message: batches are not taken');
  if (!isObject(value))
    return refusal(null, 'notMessage', `the message is ${shown(value)}: must be an object`);
  const id =
    typeof value.id === 'string' || Number.isSafeInteger(value.id) ? (value.id as string | number) : null;
  if (value.jsonrpc !== '2.0')
    return refusal(id, 'notMessage', `/jsonrpc is ${shown(value.jsonrpc)}: must be "2.0"`);
  const message = withoutNulls(value);
  if ('id' in value && id === null)
    return refusal(null, 'notMessage', `/id is ${shown(value.id)}: must be a text or a whole number`);
  const { method } = message;
  if (method === undefined && ('result' in message || 'error' in message)) return checked(message, id);
  if (typeof method !== 'string')
    return refusal(id, 'notMessage', `/method is ${shown(method)}: must be one of ${choices()}`);
  if (id === null) return checked(message, id);
  if (!Object.hasOwn(requests, method))
    return refusal(id, 'noMethod', `method ${shown(method)} is not known here: must be one of ${choices()}`);
  const broken = firstIssue(requests[method]!, message);
  if (broken !== null) return refusal(id, 'badParams', `${method}: ${broken}`);
  return checked(message, id);
}

function checked(message: object, id: string | number | null): ReadMessage {
  const broken = firstIssue(JSONRPCMessageSchema, message);
  return broken === null ? { message: message as JSONRPCMessage } : refusal(id, 'notMessage', broken);
}

/** What is wrong with it, in our words. */
function firstIssue(schema: Schema, value: object): string | null {
  const issue = schema.safeParse(value).error?.issues[0];
  if (issue === undefined) return null;
  const pointer = issue.path.map((part) => `/${String(part)}`).join('');
  const given = issue.path.reduce<unknown>(
    (within, part) => (within as Readonly<Record<PropertyKey, unknown>> | undefined)?.[part],
    value,
  );
  const rule = issue.expected === undefined ? undefined : rules[issue.expected];
  return `${pointer || 'the message'} is ${shown(given)}: must be ${rule ?? 'as the Model Context Protocol has it'}`;
}

/** By the library's names of types. */
const rules: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function withoutNulls(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (member === null && name !== 'id') return [];
      return [[name, isObject(member) && name !== 'arguments' ? withoutNulls(member) : member]];
    }),
  );
}

function choices(): string {
  return Object.keys(requests).join(', ');
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return cutText(text, 80);
}

function refusal(id: Refusal['id'], kind: keyof typeof rpcErrors, message: string): ReadMessage {
  return { refusal: { jsonrpc: '2.0', id, error: { code: rpcErrors[kind], message } } };
}
