import * as errors from '#kit/errors.ts';
import { CoreError, type ErrorOptions } from '#kit/errors.ts';

/** An error on its way between threads, whose classes do not survive it. */
export interface ErrorCopy {
  readonly kind: string;
  readonly code: string | undefined;
  readonly message: string;
  readonly options: Omit<ErrorOptions, 'cause'>;
  readonly stack: string | undefined;
}

const classes = new Map<string, unknown>(Object.entries(errors));

export function copyOf(thrown: unknown): ErrorCopy {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { facts, errors, hint, retryAfter } = error instanceof CoreError ? error : ({} as Partial<CoreError>);
  return {
    kind: error.name,
    code: ownCode(error),
    message: error.message,
    options: {
      ...(facts && { facts }),
      ...(errors && { errors }),
      ...(hint && { hint }),
      ...(retryAfter && { retryAfter }),
    },
    stack: error.stack,
  };
}

function ownCode(error: Error): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

export function errorFrom({ kind, code, message, options, stack }: ErrorCopy): Error {
  const Kind = classes.get(kind);
  if (isErrorClass(Kind) && code !== undefined) return new Kind(code, message, options);
  return Object.assign(new Error(message), { name: kind, stack }, code === undefined ? {} : { code });
}

function isErrorClass(value: unknown): value is typeof CoreError {
  return typeof value === 'function' && (value === CoreError || value.prototype instanceof CoreError);
}
