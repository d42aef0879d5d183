/**
 * The errors that Core raises on purpose. Each class fixes the HTTP status and the exit code, so that there is
 * one place where a refusal becomes an answer; `code` is stable and documented on the site.
 */

export interface FieldError {
  /** JSON pointer (RFC 6901) to the value that breaks the rule; `""` is the whole document. */
  readonly pointer: string;
  readonly detail: string;
}

export interface ErrorOptions {
  readonly cause?: unknown;
  /** The facts behind the message, for logs and machines. Never secrets. */
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly errors?: readonly FieldError[];
  /** What the person can do next: a command or a setting. */
  readonly hint?: string;
  /** Seconds after which a retry can help. */
  readonly retryAfter?: number;
}

/** Process exit codes of every command line. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  notFound: 4,
  unavailable: 5,
  interrupted: 130,
} as const;

export class CoreError extends Error {
  readonly code: string;
  readonly status: number = 500;
  readonly exitCode: number = exitCodes.failed;
  readonly retryable: boolean = false;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly errors: readonly FieldError[];
  readonly hint: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: string, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.facts = options.facts ?? {};
    this.errors = options.errors ?? [];
    this.hint = options.hint;
    this.retryAfter = options.retryAfter;
  }
}

/** Something went wrong that nobody asked for: a bug, a broken disk, a tool that failed. */
export class Failed extends CoreError {}

/** A disk of this machine is full. A retry succeeds once there is room. */
export class DiskFull extends Failed {
  override readonly retryable = true;
}

/** The disk of a database file on this machine is full. A service refuses writes, and continues by itself once there is room. */
export class DatabaseDiskFull extends DiskFull {
  override readonly status = 503;
}

/** The input cannot be decoded or breaks its own format. */
export class InvalidInput extends CoreError {
  override readonly status: number = 400;
  override readonly exitCode: number = exitCodes.usage;
}

export class TooLarge extends InvalidInput {
  override readonly status = 413;
}

export class Unauthorized extends CoreError {
  override readonly status = 401;
  override readonly exitCode = exitCodes.refused;
}

export class Forbidden extends CoreError {
  override readonly status = 403;
  override readonly exitCode = exitCodes.refused;
}

export class NotFound extends CoreError {
  override readonly status = 404;
  override readonly exitCode = exitCodes.notFound;
}

/** The request is fine, but not in the present state of the thing it names. */
export class Conflict extends CoreError {
  override readonly status = 409;
  override readonly exitCode = exitCodes.refused;
}

/** Understood, but a safeguard does not allow it. */
export class Refused extends CoreError {
  override readonly status = 422;
  override readonly exitCode = exitCodes.refused;
}

/** Something behind this service does not answer or asks to wait; a retry can help. */
export class Unavailable extends CoreError {
  override readonly status: number = 503;
  override readonly exitCode = exitCodes.unavailable;
  override readonly retryable: boolean = true;
}

/** The answer did not come in time, so that the outcome is not known. */
export class TimedOut extends Unavailable {
  override readonly status = 504;
}

/** The other side refuses for now because it was asked too often: nothing happened. `retryAfter` says when to ask again. */
export class RateLimited extends Unavailable {}

/** A person or a limit stopped the work on purpose. */
export class Interrupted extends CoreError {
  override readonly status = 409;
  override readonly exitCode = exitCodes.interrupted;
}

/** The text of any thrown value, for messages and logs. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether the same may succeed later, as where something behind it did not answer. */
export function isRetryable(error: unknown): error is CoreError {
  return error instanceof CoreError && error.retryable;
}

/** The code of any thrown value: a CoreError's own, a system error's (`ENOENT`), else `internal`. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return 'internal';
}
