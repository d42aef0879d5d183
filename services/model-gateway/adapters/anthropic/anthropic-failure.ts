import { messageOf } from '#kit/errors.ts';
import {
  type OpenAiError,
  type Remedy,
  retryAfterOf,
  UpstreamFailure,
} from '../../calls/upstream-failure.ts';
import { StreamCutOff } from './completion-chunks.ts';
import { UntranslatableRequest } from './invalid-request.ts';

/** What came back is no answer to the request; the message continues a sentence about the upstream. */
export class UnexpectedAnswer extends Error {}

export interface FailureContext {
  readonly upstream: string;
  /** Takes credentials out of words that the upstream wrote. */
  readonly mask: (text: string) => string;
  /** Whether the answer had begun. */
  readonly begun: boolean;
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

const longestMessage = 2000;

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

/** The provider's error for a status, told apart by name because each copy of its package has a class of its own. */
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
  { upstream, mask, begun }: FailureContext,
): UpstreamFailure {
  const message = mask(typeof words.message === 'string' ? words.message : 'no words').slice(
    0,
    longestMessage,
  );
  const noCredit = /credit balance/i.test(message);
  const known = noCredit ? 'billing_error' : String(words.type);
  const [type, code] = Object.hasOwn(types, known)
    ? types[known]!
    : [status >= 500 ? 'server_error' : 'invalid_request_error', null];
  return new UpstreamFailure({
    status,
    error: { message: `${upstream}: ${message}`, type, param: null, code },
    ...(noCredit && { remedy: 'next' as const }),
    retryAfterMs,
    charged: begun,
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
function noAnswer(error: unknown, { upstream, mask, begun }: FailureContext): UpstreamFailure {
  const what =
    error instanceof UnexpectedAnswer || error instanceof StreamCutOff
      ? error.message
      : begun
        ? `broke its answer off: ${reasonOf(error)}`
        : `gave no answer: ${reasonOf(error)}`;
  const told: OpenAiError = {
    message: mask(`${upstream} ${what}`).slice(0, longestMessage),
    type: 'server_error',
    param: null,
    code: begun ? 'upstream_broken' : 'upstream_unreachable',
  };
  return new UpstreamFailure({ status: 502, error: told, charged: begun, cause: reasonOf(error) });
}

/** The innermost words: the provider and fetch wrap the socket's own. Never a body: an answer that is not JSON is only named so. */
function reasonOf(error: unknown): string {
  const seen = new Set<unknown>();
  let innermost = error;
  while (innermost instanceof Error && innermost.cause !== undefined && !seen.has(innermost)) {
    seen.add(innermost);
    if (/^AI_(JSONParse|TypeValidation)Error$/.test(innermost.name)) break;
    innermost = innermost.cause;
  }
  if (innermost instanceof Error && /^AI_(JSONParse|TypeValidation)Error$/.test(innermost.name))
    return 'it is not what Anthropic’s interface describes';
  const code = (innermost as { code?: unknown } | null)?.code;
  const words = messageOf(innermost);
  return typeof code === 'string' && !words.includes(code) ? `${words} (${code})` : words;
}
