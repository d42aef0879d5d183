import { isUtf8 } from 'node:buffer';
import { parseJson } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { ModelCall } from '../providers/upstream.ts';
import { bytesPerToken, isObject } from '../providers/usage.ts';

/** A request of a client that cannot be understood; `param` is named as OpenAI does. */
export class InvalidCall extends InvalidInput {
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(code, message);
    this.param = param;
  }
}

export type DecodedCall = Omit<ModelCall, 'signal' | 'via'> & { readonly model: string };

type Rule = readonly [rule: string, keeps: (value: unknown) => boolean];

/** Lax servers take "100" for 100, so that anything else than a number would be more than what was reserved. */
const limit: Rule = [
  'a whole number of at least 1',
  (value) => value == null || (Number.isSafeInteger(value) && (value as number) >= 1),
];
const limits = { max_tokens: limit, max_completion_tokens: limit, n: limit, best_of: limit };

const ofAll: Readonly<Record<string, Rule>> = {
  model: [
    'the name of a model, of 1 to 100 characters',
    (value) => typeof value === 'string' && value.length > 0 && value.length <= 100,
  ],
  stream: ['true or false', (value) => value == null || typeof value === 'boolean'],
  ...limits,
};
const rules: Readonly<Record<ModelCall['endpoint'], Readonly<Record<string, Rule>>>> = {
  'chat/completions': {
    ...ofAll,
    messages: ['a list with at least one message', (value) => Array.isArray(value) && value.length > 0],
  },
  embeddings: { ...ofAll, input: ['a text or a list', (value) => value !== undefined] },
};

/** As far as the gateway has to know a request; all else is between client and upstream. @throws InvalidCall, InvalidInput */
export function decodeCall(endpoint: ModelCall['endpoint'], bytes: Buffer): DecodedCall {
  const request = parsed(bytes);
  checkNames(request);
  for (const [member, [rule, keeps]] of Object.entries(rules[endpoint])) {
    const value = request[member];
    if (keeps(value)) continue;
    const code = member === 'model' && !value ? 'model_missing' : 'invalid_input';
    throw new InvalidCall(code, `${member} ${shown(value)}: must be ${rule}`, member);
  }
  const { stream, stream_options: options } = request;
  return {
    endpoint,
    bytes,
    request,
    model: request.model as string,
    stream: endpoint === 'chat/completions' && stream === true,
    includeUsage: isObject(options) && options.include_usage === true,
  };
}

function parsed(bytes: Buffer): Record<string, unknown> {
  if (!isUtf8(bytes)) throw new InvalidCall('invalid_json', 'the body is not JSON: it is not UTF-8');
  const value = parseJson(bytes.toString('utf8'), 'the body');
  if (isObject(value)) return value;
  throw new InvalidCall('invalid_input', 'the body must be a JSON object');
}

/** Of these a reservation is made, or the way of an answer depends on them. */
const read = new Set([
  ...['model', 'models', 'fallbacks', 'messages', 'input', 'stream', 'stream_options'],
  ...Object.keys(limits),
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

function shown(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'is a list' : 'is an object';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return `is ${text.length > 80 ? `${text.slice(0, 77)}…` : text}`;
}

/** What an image costs with the models that we know, on the high side. */
const tokensOfImage = 2_000;
/** A file that lies at the upstream: as long as long documents are, or as the model can read. */
const tokensOfFile = 100_000;
/** For an answer that nobody bounded. */
const defaultOutput = 4_096;

export interface TokenEstimate {
  readonly inputTokens: number;
  /** Of all answers together. */
  readonly outputTokens: number;
  /** Of one answer; null for vectors. */
  readonly each: number | null;
}

/** What a call may use, for a reservation. */
export function estimateTokens(
  { endpoint, bytes, request }: Pick<DecodedCall, 'endpoint' | 'bytes' | 'request'>,
  {
    outputLimit,
    contextLimit = null,
  }: { readonly outputLimit: number | null; readonly contextLimit?: number | null },
): TokenEstimate {
  const parts = partsIn(request.messages);
  const images = imagesIn(parts);
  const text = Math.max(0, bytes.length - images.reduce((sum, length) => sum + length, 0));
  const files = filesElsewhere(parts) * Math.min(contextLimit ?? tokensOfFile, tokensOfFile);
  const inputTokens = Math.ceil(text / bytesPerToken) + images.length * tokensOfImage + files;
  if (endpoint === 'embeddings') {
    return { inputTokens: Math.max(inputTokens, tokensGiven(request.input)), outputTokens: 0, each: null };
  }
  const each = outputAsked(request)?.tokens ?? outputLimit ?? defaultOutput;
  const outputTokens = each * Math.max(numberIn(request.n), numberIn(request.best_of), 1);
  return { inputTokens, outputTokens, each };
}

/** Tokens of one answer that the client bounds it to: servers differ in which member they take, so that the greater counts. */
export function outputAsked(
  request: Readonly<Record<string, unknown>>,
): { readonly param: 'max_tokens' | 'max_completion_tokens'; readonly tokens: number } | null {
  const [older, newer] = [numberIn(request.max_tokens), numberIn(request.max_completion_tokens)];
  const tokens = Math.max(older, newer);
  if (tokens === 0) return null;
  return { param: older > newer ? 'max_tokens' : 'max_completion_tokens', tokens };
}

/** Inputs for vectors may be tokens already, which are shorter than words. */
function tokensGiven(input: unknown): number {
  return Array.isArray(input) ? input.flat().filter((one) => typeof one === 'number').length : 0;
}

/** 0 where there is none; what else it may be is refused before. */
function numberIn(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Lengths of the pictures that stand in the request itself; 0 for those that stand elsewhere. Files and sounds count as text. */
function imagesIn(parts: Parts): number[] {
  const found: number[] = [];
  for (const part of parts) {
    const url = part?.image_url?.url ?? part?.image_url;
    if (typeof url !== 'string') continue;
    if (url.startsWith('data:image/')) found.push(url.length);
    else if (!url.startsWith('data:')) found.push(0);
  }
  return found;
}

/** How many files the request names and does not hold. */
function filesElsewhere(parts: Parts): number {
  let files = 0;
  for (const part of parts) {
    const { file = part, file_url } = part ?? {};
    if (file?.file_id != null || file?.file_url != null || file_url != null) files++;
  }
  return files;
}

// biome-ignore lint/suspicious/noExplicitAny: what clients send has every shape
type Parts = readonly any[];

function partsIn(messages: unknown): Parts {
  if (!Array.isArray(messages)) return [];
  const contents = messages.map((message) => message?.content).filter((content) => Array.isArray(content));
  return contents.length === 0 ? [] : contents.flat();
}
