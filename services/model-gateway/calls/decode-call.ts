import { isUtf8 } from 'node:buffer';
import { twice } from '#kit/decode.ts';
import { InvalidInput, messageOf } from '#kit/errors.ts';
import { repeatedMember } from '#kit/repeated-member.ts';
import type { ModelCall } from '../providers/upstream.ts';
import { isObject } from '../providers/usage.ts';

/** A request of a client that cannot be understood; `param` is named as OpenAI does. */
export class InvalidCall extends InvalidInput {
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(code, message);
    this.param = param;
  }
}

export type DecodedCall = Omit<ModelCall, 'signal' | 'via'> & { readonly model: string };

const maxModelLength = 100;
/** What is nested deeper comes from no client, and exhausts the stack of what walks it. */
const maxDepth = 200;

/** As far as the gateway has to know a request; all else is between client and upstream. @throws InvalidCall */
export function decodeCall(endpoint: ModelCall['endpoint'], bytes: Buffer): DecodedCall {
  const request = parsed(bytes);
  const { model, stream = false, stream_options: options } = request;
  if (typeof model !== 'string' || model === '') {
    throw new InvalidCall('model_missing', `model ${shown(model)}: must be the name of a model`, 'model');
  }
  if (model.length > maxModelLength) {
    const message = `model has ${model.length} characters: must be the name of a model, at most ${maxModelLength}`;
    throw new InvalidCall('invalid_input', message, 'model');
  }
  if (stream !== null && typeof stream !== 'boolean') {
    throw new InvalidCall('invalid_input', `stream ${shown(stream)}: must be true or false`, 'stream');
  }
  if (endpoint === 'chat/completions') checkMessages(request.messages);
  else if (request.input === undefined) {
    throw new InvalidCall('invalid_input', 'input is missing: must be a text or a list', 'input');
  }
  checkNames(request);
  checkRepeated(bytes);
  for (const member of limits) checkLimit(member, request[member]);
  return {
    endpoint,
    bytes,
    request,
    model,
    stream: endpoint === 'chat/completions' && stream === true,
    includeUsage: isObject(options) && options.include_usage === true,
  };
}

function parsed(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) throw new InvalidCall('invalid_json', 'the body is empty: must be a JSON object');
  if (!isUtf8(bytes)) throw new InvalidCall('invalid_json', 'the body is not JSON: it is not UTF-8');
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new InvalidCall('invalid_json', `the body is not JSON: ${messageOf(error)}`);
  }
  if (!isObject(value)) throw new InvalidCall('invalid_input', 'the body must be a JSON object');
  if (isDeeper(value, maxDepth)) {
    throw new InvalidCall('invalid_json', `the body is nested more than ${maxDepth} levels deep, the limit`);
  }
  return value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function checkMessages(messages: unknown): void {
  if (Array.isArray(messages) && messages.length > 0) return;
  const what = messages === undefined ? 'is missing' : 'is none';
  throw new InvalidCall(
    'invalid_input',
    `messages ${what}: must be a list with at least one message`,
    'messages',
  );
}

const limits = ['max_tokens', 'max_completion_tokens', 'n', 'best_of'] as const;

/** Of these a reservation is made, or the way of an answer depends on them. */
const read = new Set([
  'model',
  'models',
  'fallbacks',
  'messages',
  'input',
  'stream',
  'stream_options',
  ...limits,
]);
/** Some servers take `Model` for `model`, so that they would do something else than what was checked and is paid for. */
function checkNames(request: Record<string, unknown>): void {
  for (const key of Object.keys(request)) {
    // Both ways: letters such as ſ and K are like others only in one of them.
    const plain = key.toUpperCase().toLowerCase();
    if (key === plain || !read.has(plain)) continue;
    throw new InvalidCall('invalid_input', `${key} is no member of a request: must be ${plain}`, key);
  }
}

function checkRepeated(bytes: Buffer): void {
  const pointer = repeatedMember(bytes.toString('utf8'));
  if (pointer === null) return;
  throw new InvalidCall('invalid_json', `the body: ${twice(pointer)}`, pointer.split('/')[1]!);
}

/** Lax servers take "100" for 100, so that anything else than a number would be more than what was reserved. */
function checkLimit(member: (typeof limits)[number], value: unknown): void {
  if (value === undefined || value === null || (Number.isSafeInteger(value) && (value as number) >= 1))
    return;
  throw new InvalidCall(
    'invalid_input',
    `${member} ${shown(value)}: must be a whole number of at least 1`,
    member,
  );
}

function shown(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'is a list' : 'is an object';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return `is ${text.length > 80 ? `${text.slice(0, 77)}…` : text}`;
}
