import { setTimeout } from 'node:timers/promises';
import { type CoreError, codeOf, Unavailable } from '../errors.ts';

/** The connection was lost while a transaction was committed: it may have been. `cause` is what was lost. */
export class CommitUnknown extends Unavailable {
  constructor(cause: CoreError) {
    const { facts, hint, retryAfter } = cause;
    super('database_unavailable', `the answer to a commit did not come: ${cause.message}`, {
      ...{ cause, facts },
      ...(hint === undefined ? {} : { hint }),
      ...(retryAfter === undefined ? {} : { retryAfter }),
    });
  }
}

/** Before each time that the database is asked: some eight seconds, in which it can start again or a proxy find another. */
const pausesMs = [0, 100, 400, 1_000, 2_000, 4_000];

/**
 * Writes. Where the answer to its commit does not come, the database is asked until it says what became of it: the connections beside the
 * lost one may be lost too.
 * @param again what it is asked; does no harm however the commit ended, and waits for one that is still under way
 * @throws CommitUnknown where it does not answer
 */
export async function outcomeOf<T>(write: () => Promise<T>, again: () => Promise<T> = write): Promise<T> {
  try {
    return await write();
  } catch (lost) {
    if (!(lost instanceof CommitUnknown)) throw lost;
    for (const pauseMs of pausesMs) {
      await setTimeout(pauseMs);
      try {
        return await again();
      } catch (error) {
        if (codeOf(error) !== 'database_unavailable') throw error;
      }
    }
    throw lost;
  }
}
