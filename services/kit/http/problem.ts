import { Problem } from '../contracts/problem.ts';
import { decode, matches } from '../decode.ts';
import {
  Conflict,
  CoreError,
  type ErrorOptions,
  Failed,
  Forbidden,
  InvalidInput,
  NotFound,
  Refused,
  TimedOut,
  TooLarge,
  Unauthorized,
  Unavailable,
} from '../errors.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { STATUS_CODES } from './node-http.ts';

export const problemType = 'application/problem+json';

export class MethodNotAllowed extends InvalidInput {
  override readonly status = 405;
  readonly allow: string;

  constructor(method: string, path: string, allow: string) {
    super('method_not_allowed', `${method} is not possible on ${path}: must be one of ${allow}`);
    this.allow = allow;
  }
}

export class UnsupportedMediaType extends InvalidInput {
  override readonly status = 415;
}

/**
 * The one place where an error becomes an answer. What Core says on purpose is shown, except the words of a failure inside
 * (500), whose place is the log; what anything else says is never shown.
 */
export function problemOf(
  error: unknown,
  request: { readonly path: string; readonly id: string },
  redactor: Redactor,
): Problem {
  const known = error instanceof CoreError ? error : null;
  const status = known?.status ?? 500;
  const shown = known !== null && status !== 500;
  const detail = shown ? known.message : `Something failed inside; the log has more under ${request.id}.`;
  const problem: Problem = {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail,
    instance: request.path,
    code: known?.code ?? 'internal',
    errors: shown && known.errors.length > 0 ? [...known.errors] : undefined,
    hint: known?.hint,
    request_id: request.id,
  };
  return redactor.redactDeep(problem);
}

/** Headers that belong to an error: when to come again, what is allowed, how to say who asks. */
export function problemHeaders(error: unknown): Record<string, string> {
  if (error instanceof MethodNotAllowed) return { Allow: error.allow };
  if (error instanceof Unauthorized) return { 'WWW-Authenticate': 'Bearer realm="core"' };
  if (error instanceof CoreError && error.retryAfter !== undefined) {
    return { 'Retry-After': String(Math.ceil(error.retryAfter)) };
  }
  return {};
}

/** The error that a problem answer stands for, as the service threw it. */
export function errorOfProblem(status: number, body: unknown, retryAfter?: number): CoreError {
  const options: ErrorOptions = { facts: { status }, ...(retryAfter === undefined ? {} : { retryAfter }) };
  if (!matches(Problem, body)) {
    return errorWith(
      status,
      'http_error',
      `answered ${status} ${STATUS_CODES[status] ?? ''}`.trim(),
      options,
    );
  }
  const problem = decode(Problem, body, 'the problem');
  const { code, detail, title, errors, hint } = problem;
  return errorWith(status, code, detail ?? title, {
    ...options,
    facts: { status, request_id: problem.request_id },
    ...(errors === undefined ? {} : { errors }),
    ...(hint === undefined ? {} : { hint }),
  });
}

function errorWith(status: number, code: string, message: string, options: ErrorOptions): CoreError {
  switch (status) {
    case 401:
      return new Unauthorized(code, message, options);
    case 403:
      return new Forbidden(code, message, options);
    case 404:
      return new NotFound(code, message, options);
    case 409:
      return new Conflict(code, message, options);
    case 413:
      return new TooLarge(code, message, options);
    case 422:
      return new Refused(code, message, options);
    case 429:
    case 502:
    case 503:
      return new Unavailable(code, message, options);
    case 504:
      return new TimedOut(code, message, options);
    default:
      return status >= 400 && status < 500
        ? new InvalidInput(code, message, options)
        : new Failed(code, message, options);
  }
}
