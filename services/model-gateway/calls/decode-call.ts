import { isUtf8 } from 'node:buffer';
import { parseJson } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { isObject } from '#kit/is-object.ts';
import { bytesPerToken } from '#kit/model-answers/usage.ts';
import { cutText } from '#kit/redaction/cut-text.ts';
import { dialectFor, endpointFacts } from '../dialects/registry.ts';
import type { Endpoint } from '../providers/endpoints.ts';
import type { ModelCall } from '../providers/upstream.ts';

/** A request of a client that cannot be understood; `param` is named as OpenAI does. */
export class InvalidCall extends InvalidInput {
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(code, message);
    this.param = param;
  }
}

export type DecodedCall = Omit<ModelCall, 'signal' | 'via'> & { readonly model: string };

/** What a client sent, and where. */
export interface SentCall {
  readonly endpoint: Endpoint;
  readonly bytes: Buffer;
  /** The model, where the path names it. */
  readonly named?: string | undefined;
}

/** As far as the gateway has to know a request; all else is between client and upstream. @throws InvalidCall, InvalidInput */
export function decodeCall({ endpoint, bytes, named }: SentCall): DecodedCall {
  const { rules, stream, read } = endpointFacts(endpoint);
  const request = withModel(parsed(bytes), named);
  checkNames(request, read);
  for (const [member, [rule, keeps]] of Object.entries(rules)) {
    const value = request[member];
    if (keeps(value, request)) continue;
    const code = member === 'model' && !value ? 'model_missing' : 'invalid_input';
    throw new InvalidCall(code, `${member} ${shown(value)}: must be ${rule}`, member);
  }
  const { stream_options: options } = request;
  return {
    endpoint,
    bytes,
    request,
    model: request.model as string,
    stream: stream === 'always' || (stream === 'asked' && request.stream === true),
    includeUsage: isObject(options) && options.include_usage === true,
  };
}

function withModel(request: Record<string, unknown>, named: string | undefined): Record<string, unknown> {
  if (named === undefined) return request;
  if (request.model === undefined) return { ...request, model: named };
  throw new InvalidCall(
    'invalid_input',
    'model is no member here: must be left out, as the path names it',
    'model',
  );
}

function parsed(bytes: Buffer): Record<string, unknown> {
  if (!isUtf8(bytes)) throw new InvalidCall('invalid_json', 'the body is not JSON: it is not UTF-8');
  const value = parseJson(bytes.toString('utf8'), 'the body');
  if (isObject(value)) return value;
  throw new InvalidCall('invalid_input', 'the body must be a JSON object');
}

/**
 * Of the members that are read a reservation is made, or the way of an answer depends on them. Some servers take `Model` for `model`,
 * so that they would do something else than what was checked and is paid for.
 */
function checkNames(request: Record<string, unknown>, read: readonly string[]): void {
  const names = namesRead(read);
  for (const key of Object.keys(request)) {
    // Both ways: letters such as ſ and K are like others only in one of them.
    const name = names.get(key.toUpperCase().toLowerCase());
    if (name === undefined || name === key) continue;
    throw new InvalidCall('invalid_input', `${key} is no member of a request: must be ${name}`, key);
  }
}

const namesOf = new WeakMap<readonly string[], ReadonlyMap<string, string>>();

function namesRead(read: readonly string[]): ReadonlyMap<string, string> {
  const known = namesOf.get(read) ?? new Map(read.map((name) => [name.toLowerCase(), name]));
  namesOf.set(read, known);
  return known;
}

function shown(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'is a list' : 'is an object';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return `is ${cutText(text, 80)}`;
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
  const dialect = dialectFor(endpoint);
  const { uses, for: kind } = endpointFacts(endpoint);
  if (!uses) return { inputTokens: 0, outputTokens: 0, each: null };
  const { images, elsewhere } = dialect.media(request);
  const text = Math.max(0, bytes.length - images.reduce((sum, length) => sum + length, 0));
  const files = elsewhere * Math.min(contextLimit ?? tokensOfFile, tokensOfFile);
  const inputTokens = Math.ceil(text / bytesPerToken) + images.length * tokensOfImage + files;
  if (kind === 'embeddings') {
    return { inputTokens: Math.max(inputTokens, tokensGiven(request.input)), outputTokens: 0, each: null };
  }
  const each = dialect.outputAsked(request)?.tokens ?? outputLimit ?? defaultOutput;
  return { inputTokens, outputTokens: each * dialect.answersAsked(request), each };
}

/** Inputs for vectors may be tokens already, which are shorter than words. */
function tokensGiven(input: unknown): number {
  return Array.isArray(input) ? input.flat().filter((one) => typeof one === 'number').length : 0;
}
