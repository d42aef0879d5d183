import { CoreError, messageOf, Unavailable } from '#kit/errors.ts';
import { CommitUnknown } from '#kit/postgres/database.ts';

/**
 * What cannot be recorded is not spent: the caller may try again.
 * @param what cannot be done, where it is no call
 */
export function notRecorded(
  error: unknown,
  what = 'the call cannot be put on record, so it is not made',
): CoreError {
  const cause = error instanceof CommitUnknown ? error.cause : error;
  if (cause instanceof CoreError && !cause.retryable) return cause;
  const { code, facts, hint, retryAfter } =
    cause instanceof CoreError ? cause : { code: 'ledger_unavailable', facts: {}, hint: undefined };
  return new Unavailable(code, `${what}: ${messageOf(cause)}`, {
    cause: error,
    facts,
    retryAfter: retryAfter ?? 5,
    ...(hint !== undefined && { hint }),
  });
}
