import { InvalidInput } from '#kit/errors.ts';
import { connectionFailure, type Progress, type Remedy, retryAfterOf, UpstreamFailure } from '../failure.ts';
import { redirected } from '../openai-compatible/failures.ts';

/** What came back is no answer to the request; the message continues a sentence about the upstream. */
export class UnexpectedAnswer extends Error {}

/** The stream of the provider ended without its last event. */
export class StreamCutOff extends Error {}
export const endedEarly = 'ended its stream before the answer was complete';

/** The upstream wants to be asked elsewhere. */
export class Redirected extends UnexpectedAnswer {
  readonly status: number;

  constructor(status: number) {
    super(`answered ${status}, a redirect`);
    this.status = status;
  }
}

interface FailureContext {
  readonly upstream: string;
  /** Takes credentials out of words that the upstream wrote. */
  readonly mask: (text: string) => string;
  /** Whether the client was given a part of the answer. */
  readonly given: boolean;
  /** `begun`: an answer that is no refusal. */
  readonly progress: Progress;
  /** Limit of the silence between two pieces of an answer. */
  readonly idleMs: number;
}

/** OpenAI's type and code for Anthropic's error types. Source: docs.claude.com, "Errors". */
const types: Readonly<Record<string, readonly [type: string, code: string | null]>> = {
  invalid_request_error: ['invalid_request_error', null],
  authentication_error: ['authentication_error', 'invalid_api_key'],
  billing_error: ['insufficient_quota', 'insufficient_quota'],
  permission_error: ['permission_error', 'permission_denied'],
  not_found_error: ['invalid_request_error', 'model_not_found'],
  request_too_large: ['invalid_request_error', 'request_too_large'],
  rate_limit_error: ['rate_limit_error', 'rate_limit_exceeded'],
  timeout_error: ['server_error', 'upstream_timeout'],
  api_error: ['server_error', 'upstream_error'],
  overloaded_error: ['server_error', 'overloaded'],
};

const maxMessage = 2000;

export function failureFrom(error: unknown, context: FailureContext): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  if (error instanceof UntranslatableRequest) return untranslatable(error);
  const call = error as ApiCallError;
  if (call?.name === 'AI_APICallError' && typeof call.statusCode === 'number' && call.statusCode >= 400)
    return answered(call, context);
  const said = spokenInStream(error);
  if (said !== null) return fromWords(said.status, said.words, null, context);
  return noAnswer(error, context);
}

function untranslatable(error: UntranslatableRequest): UpstreamFailure {
  const { message, param, code } = error;
  // Another upstream of the same model may know what this one has no word for.
  const remedy: Remedy = code.startsWith('unsupported') ? 'next' : 'none';
  return new UpstreamFailure({
    status: 400,
    error: { message, type: 'invalid_request_error', param, code },
    remedy,
  });
}

/** The provider's error for a status, recognised by name because each copy of its package has a class of its own. */
interface ApiCallError extends Error {
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: string;
  readonly data?: { readonly error?: Words };
}

interface Words {
  readonly type?: unknown;
  readonly message?: unknown;
}

function answered(call: ApiCallError, context: FailureContext): UpstreamFailure {
  const { statusCode, responseHeaders, responseBody, data, message } = call;
  const words = data?.error ?? parsedWords(responseBody) ?? { message };
  const retryAfter = retryAfterOf(responseHeaders?.['retry-after'], Date.now());
  return fromWords(statusCode!, words, retryAfter, context);
}

function parsedWords(body: string | undefined): Words | null {
  try {
    const value = JSON.parse(body ?? '');
    const words = value?.error ?? value;
    return typeof words?.message === 'string' ? words : null;
  } catch {
    return null;
  }
}

function fromWords(
  status: number,
  words: Words,
  retryAfterMs: number | null,
  { upstream, mask, progress }: FailureContext,
): UpstreamFailure {
  const said = typeof words.message === 'string' ? words.message : `upstream ${upstream} answered ${status}`;
  const message = mask(said).slice(0, maxMessage);
  const noCredit = /credit balance/i.test(message);
  const known = noCredit ? 'billing_error' : String(words.type);
  const [type, code] = Object.hasOwn(types, known)
    ? types[known]!
    : [status >= 500 ? 'server_error' : 'invalid_request_error', null];
  return new UpstreamFailure({
    status,
    error: { message, type, param: null, code },
    ...(noCredit && { remedy: 'next' as const }),
    retryAfterMs,
    charged: progress === 'begun',
  });
}

/** An error event in a stream, as the provider gives it: no Error, but an object of its own. */
function spokenInStream(error: unknown): { status: number; words: Words } | null {
  if (error instanceof Error || typeof error !== 'object' || error === null) return null;
  const { type, message, statusCode } = error as Words & { statusCode?: unknown };
  if (typeof message !== 'string') return null;
  return { status: typeof statusCode === 'number' ? statusCode : 502, words: { type, message } };
}

/** No connection, a broken one, or bytes that are no answer. */
function noAnswer(
  error: unknown,
  { upstream, mask, given, progress, idleMs }: FailureContext,
): UpstreamFailure {
  const innermost = innermostOf(error);
  if (innermost instanceof Redirected) return redirected(upstream, innermost.status);
  const what = unreadable(innermost);
  if (what === null) return connectionFailure(upstream, innermost, progress, idleMs);
  return new UpstreamFailure({
    status: 502,
    remedy: given ? 'none' : 'next',
    charged: true,
    error: {
      message: mask(`upstream ${upstream} ${what}`).slice(0, maxMessage),
      type: 'server_error',
      param: null,
      code: given ? 'upstream_broke_off' : 'upstream_answer_invalid',
    },
  });
}

/** Completes a sentence about the upstream; null where it gave no answer. Never quotes what it sent. */
function unreadable(error: unknown): string | null {
  if (error instanceof UnexpectedAnswer || error instanceof StreamCutOff) return error.message;
  return error instanceof Error && unreadableErrors.test(error.name)
    ? 'sent what Anthropic’s interface does not describe'
    : null;
}

const unreadableErrors = /^AI_(JSONParse|TypeValidation|InvalidResponseData)Error$/;

/** The provider and fetch wrap the error that says what happened. */
function innermostOf(error: unknown): unknown {
  let innermost = error;
  for (let depth = 0; depth < 10; depth++) {
    if (!(innermost instanceof Error) || unreadableErrors.test(innermost.name)) return innermost;
    if (innermost.cause === undefined) return innermost;
    innermost = innermost.cause;
  }
  return innermost;
}

/** A request that is no chat completion, or one that Anthropic has nothing for. `param` is named as OpenAI does, such as `messages[0].content`. */
export class UntranslatableRequest extends InvalidInput {
  readonly param: string | null;

  constructor(message: string, param: string | null, code = 'unsupported_parameter') {
    super(code, message);
    this.param = param;
  }
}

/** OpenAI's way to name a member, from a JSON pointer. */
export function paramOf(pointer: string): string | null {
  const [first, ...rest] = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (first === undefined) return null;
  return rest.reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`), first);
}
