import { CoreError, messageOf, Unavailable } from '#kit/errors.ts';

const unknown = {
  code: 'ledger_unavailable',
  facts: {},
  hint: 'Make sure that the ledger can be written; the gateway then continues by itself.',
  retryAfter: undefined,
};

/**
 * What cannot be recorded is not spent: the caller may try again.
 * @param what cannot be done, where it is no call
 */
export function notRecorded(
  error: unknown,
  what = 'the call cannot be put on record, so it is not made',
): CoreError {
  if (error instanceof CoreError && !error.retryable) return error;
  const { code, facts, hint, retryAfter } = error instanceof CoreError ? error : unknown;
  return new Unavailable(code, `${what}: ${messageOf(error)}`, {
    cause: error,
    facts,
    retryAfter: retryAfter ?? 5,
    ...(hint !== undefined && { hint }),
  });
}
