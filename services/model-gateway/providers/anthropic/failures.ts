import { InvalidInput } from '#kit/errors.ts';
import { isObject } from '#kit/is-object.ts';
import { isContextOverflow } from '#kit/model-answers/context-overflow.ts';
import { errorIn, redirected } from '../answer-errors.ts';
import {
  connectionFailure,
  ownFailure,
  type Progress,
  type Remedy,
  retryAfterOf,
  typeOf,
  UpstreamFailure,
} from '../failure.ts';
import { type Mask, withoutSecrets } from '../mask.ts';

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
  readonly mask: Mask;
  /** Whether the client was given a part of the answer. */
  readonly given: boolean;
  /** `begun`: an answer that is no refusal. */
  readonly progress: Progress;
  /** Limit of the silence between two pieces of an answer. */
  readonly idleMs: number;
}

/** OpenAI's type and code for Anthropic's error types. Source: docs.claude.com, "Errors". */
const types = new Map<string, readonly [type: string, code: string | null]>([
  ['invalid_request_error', ['invalid_request_error', null]],
  ['authentication_error', ['authentication_error', 'invalid_api_key']],
  ['billing_error', ['insufficient_quota', 'insufficient_quota']],
  ['permission_error', ['permission_error', 'permission_denied']],
  ['not_found_error', ['invalid_request_error', 'model_not_found']],
  ['request_too_large', ['invalid_request_error', 'request_too_large']],
  ['rate_limit_error', ['rate_limit_error', 'rate_limit_exceeded']],
  ['timeout_error', ['server_error', 'upstream_timeout']],
  ['api_error', ['server_error', 'upstream_error']],
  ['overloaded_error', ['server_error', 'overloaded']],
]);

export function failureFrom(error: unknown, context: FailureContext): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  if (error instanceof UntranslatableRequest) return untranslatable(error);
  const { name, statusCode, responseBody = '', responseHeaders } = error as ProviderError;
  if (name === 'AI_APICallError' && statusCode !== undefined && statusCode >= 400) {
    const retryAfterMs = retryAfterOf(responseHeaders?.['retry-after']);
    return answered(statusCode, responseBody, context, retryAfterMs);
  }
  // An error event in a stream, as the provider gives it: no Error, but an object of its own.
  if (isObject(error) && !(error instanceof Error) && typeof error.message === 'string')
    return answered(statusCode ?? 502, JSON.stringify({ error }), context);
  return noAnswer(error, context);
}

/** The provider's error for a status, recognised by name because each copy of its package has a class of its own. */
interface ProviderError {
  readonly name?: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: string;
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

function answered(
  status: number,
  body: string,
  { upstream, mask, progress }: FailureContext,
  retryAfterMs: number | null = null,
): UpstreamFailure {
  const { message, type: said } = errorIn(upstream, status, body, mask);
  const noCredit = /credit balance/i.test(message);
  const [type, usual] = types.get(noCredit ? 'billing_error' : said) ?? [typeOf(status), null];
  const isOverflow = status === 400 && isContextOverflow({ code: usual, message });
  const code = isOverflow ? 'context_length_exceeded' : usual;
  return new UpstreamFailure({
    status,
    error: { message, type, param: null, code },
    ...(noCredit && { remedy: 'next' as const }),
    retryAfterMs,
    charged: progress === 'begun',
  });
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
  const code = given ? 'upstream_broke_off' : 'upstream_answer_invalid';
  return ownFailure(502, code, withoutSecrets(`upstream ${upstream} ${what}`, mask), {
    remedy: given ? 'none' : 'next',
    charged: true,
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
