import * as t from 'io-ts';
import { nullable } from '#kit/decode.ts';
import { CoreError, codeOf, messageOf } from '#kit/errors.ts';
import { retryAfterSeconds } from '#kit/http/retry-after.ts';
import type { DialectName } from './endpoints.ts';

/** What OpenAI's interface says of an error, in a body as `{"error": …}`. */
export const OpenAiError = t.strict({
  message: t.string,
  type: t.string,
  param: nullable(t.string),
  code: nullable(t.string),
});
export type OpenAiError = t.TypeOf<typeof OpenAiError>;

/** OpenAI's type of an error that has none of its own. */
export function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** What can be done after a failure, before the client got a byte. */
export type Remedy =
  /** Ask the same upstream again, then the next. */
  | 'retry'
  /** Ask the next upstream: this one does not serve the call, another may. */
  | 'next'
  /** Tell the client: the request itself is at fault. */
  | 'none';

export interface FailureFacts {
  /** HTTP status for the client: the upstream's own, 502 where it gave none that is right, 504 where it was late. */
  readonly status: number;
  readonly error: OpenAiError;
  readonly remedy?: Remedy;
  /** How long the upstream asked to wait. */
  readonly retryAfterMs?: number | null;
  /** Whether the upstream may have done work that is paid for. */
  readonly charged?: boolean;
  /** Where the upstream said it in a dialect that a client may speak too. */
  readonly own?: OwnWords | undefined;
  readonly cause?: unknown;
}

/** An upstream's own words for its error, masked. */
export interface OwnWords {
  readonly dialect: DialectName;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An upstream did not answer the call. Its words are masked already. */
export class UpstreamFailure extends CoreError {
  override readonly status: number;
  readonly openaiError: OpenAiError;
  readonly remedy: Remedy;
  readonly retryAfterMs: number | null;
  readonly charged: boolean;
  readonly own: OwnWords | null;

  constructor(facts: FailureFacts) {
    const { status, error, remedy, retryAfterMs = null, charged = false, own = null, cause } = facts;
    super(error.code ?? error.type, error.message, cause === undefined ? {} : { cause });
    this.status = status;
    this.openaiError = error;
    this.remedy = remedy ?? remedyOf(status);
    this.retryAfterMs = retryAfterMs;
    this.charged = charged;
    this.own = own;
  }
}

/** A failure in the gateway's own words. */
export function ownFailure(
  status: number,
  code: string,
  message: string,
  facts: Omit<FailureFacts, 'status' | 'error'> = {},
): UpstreamFailure {
  return new UpstreamFailure({
    ...facts,
    status,
    error: { message, type: typeOf(status), param: null, code },
  });
}

const again = new Set([408, 409, 429]);
/** Our credential there, our name for the model or the way there is wrong; that is no fault of the client. */
const elsewhere = new Set([401, 402, 403, 404, 508]);

function remedyOf(status: number): Remedy {
  if (elsewhere.has(status)) return 'next';
  return status >= 500 || again.has(status) ? 'retry' : 'none';
}

/** A year: more is no wait but a refusal, and numbers without end are no header. */
const maxWaitMs = 365 * 24 * 3600 * 1000;

/** Milliseconds of a `Retry-After`; null where there is none that can be read. */
export function retryAfterOf(header: string | undefined): number | null {
  const seconds = retryAfterSeconds(header);
  return seconds === null ? null : Math.min(maxWaitMs, seconds * 1000);
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ENOTFOUND: 'has a name that does not resolve (DNS)',
  EAI_AGAIN: 'has a name that does not resolve now (DNS)',
  ECONNRESET: 'broke the connection',
  EPIPE: 'broke the connection',
  ETIMEDOUT: 'does not answer',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  UND_ERR_SOCKET: 'broke the connection',
  UND_ERR_CONNECT_TIMEOUT: 'did not take the connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'sent headers that are too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'ended its answer before it was whole',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that it signed itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an authority that is not known here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an authority that is not known here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an authority that is not known here',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
};

/** Nothing of the request can have been read; it was on its way, so that it may be paid; the head of an answer had come. */
export type Progress = 'unsent' | 'sent' | 'begun';

/** What cannot be mended by asking again. */
const lasting = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|UND_ERR_INVALID_ARG)/;

/**
 * What a connection's end means, in our words: those of the system may hold anything that the upstream sent.
 * @param progress how far the exchange had come
 * @param idleMs limit of the silence between two pieces of an answer
 */
export function connectionFailure(
  upstream: string,
  error: unknown,
  progress: Progress,
  idleMs: number,
): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  const code = codeOf(causeOf(error));
  if (code === 'UND_ERR_BODY_TIMEOUT') return lateFailure(upstream, 'idle', idleMs);
  const begun = progress === 'begun';
  const late = code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT';
  const what =
    (isUnaskedContinue(error) ? 'answered 100 Continue, which was not asked for' : words[code]) ??
    (code.startsWith('HPE_') || (code === 'internal' && progress === 'sent')
      ? 'sent what is no HTTP'
      : `cannot be used (${code === 'internal' ? 'unknown' : code})`);
  const message = `upstream ${upstream} ${begun && words[code] === undefined ? 'broke its answer off' : what}`;
  const how = late
    ? 'upstream_timeout'
    : progress === 'unsent'
      ? 'upstream_unreachable'
      : 'upstream_broke_off';
  const isLasting = lasting.test(code) || code.startsWith('HPE_') || isUnaskedContinue(error);
  return ownFailure(late ? 504 : 502, how, message, {
    remedy: begun ? 'none' : isLasting ? 'next' : 'retry',
    charged: progress !== 'unsent',
    cause: new Error(messageOf(error)),
  });
}

/** What undici says when a request under way gets an interim answer of this kind. */
function isUnaskedContinue(error: unknown): boolean {
  return codeOf(error) === 'UND_ERR_SOCKET' && messageOf(error) === 'bad response';
}

/** A limit of ours has passed. */
export function lateFailure(
  upstream: string,
  limit: 'first' | 'idle' | 'total',
  ms: number,
): UpstreamFailure {
  const seconds = `${ms / 1000} s`;
  const what = {
    first: `did not send the first token within ${seconds}`,
    idle: `sent nothing more for ${seconds}`,
    total: `did not end its answer within ${seconds}`,
  }[limit];
  return ownFailure(504, 'upstream_timeout', `upstream ${upstream} ${what}`, {
    remedy: limit === 'first' ? 'retry' : 'none',
    charged: true,
  });
}

/** Happy eyeballs give an AggregateError of all addresses that were tried. */
function causeOf(error: unknown): unknown {
  return error instanceof AggregateError && codeOf(error) === 'internal' ? error.errors[0] : error;
}

/** Codes of failures whose messages are the gateway's own words. */
export const ownWords = new Set([
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_broke_off',
  'upstream_redirected',
  'credential_unusable',
]);

export const ownCodes = new Set([
  ...ownWords,
  'upstream_answer_invalid',
  'upstream_stream_broken',
  'queue_full',
  'queue_timeout',
  'not_translatable',
]);

/** Those that upstreams are known to use: what else stands there may be anything, a part of the credential too. */
export const upstreamCodes = new Set([
  'authentication_error',
  'billing_error',
  'content_filter',
  'context_length_exceeded',
  'insufficient_quota',
  'internal_error',
  'invalid_api_key',
  'invalid_request_error',
  'invalid_value',
  'model_not_found',
  'not_found_error',
  'overloaded',
  'permission_denied',
  'rate_limit_exceeded',
  'request_too_large',
  'server_error',
  'unknown_parameter',
  'unsupported_endpoint',
  'unsupported_parameter',
  'unsupported_value',
  'upstream_error',
]);
