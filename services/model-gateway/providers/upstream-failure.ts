import { CoreError } from '#kit/errors.ts';

/** What OpenAI's interface says of an error, in a body as `{"error": …}`. */
export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
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
  readonly cause?: unknown;
}

/** An upstream did not answer the call. Its words are masked already. */
export class UpstreamFailure extends CoreError {
  override readonly status: number;
  readonly openaiError: OpenAiError;
  readonly remedy: Remedy;
  readonly retryAfterMs: number | null;
  readonly charged: boolean;

  constructor({ status, error, remedy, retryAfterMs = null, charged = false, cause }: FailureFacts) {
    super(error.code ?? error.type, error.message, cause === undefined ? {} : { cause });
    this.status = status;
    this.openaiError = error;
    this.remedy = remedy ?? remedyOf(status);
    this.retryAfterMs = retryAfterMs;
    this.charged = charged;
  }
}

const again = new Set([408, 409, 429]);
/** Our credential there, our name for the model or the way there is wrong; that is no fault of the client. */
const elsewhere = new Set([401, 402, 403, 404, 508]);

export function remedyOf(status: number): Remedy {
  if (elsewhere.has(status)) return 'next';
  return status >= 500 || again.has(status) ? 'retry' : 'none';
}

/** A year: more is no wait but a refusal, and numbers without end are no header. */
const longestWaitMs = 365 * 24 * 3600 * 1000;

/**
 * Milliseconds of a `Retry-After`, which is seconds or a date; null where it is neither.
 * Source: RFC 9110, 10.2.3.
 */
export function retryAfterOf(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Math.min(longestWaitMs, Number(header) * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.min(longestWaitMs, Math.max(0, date - now));
}
