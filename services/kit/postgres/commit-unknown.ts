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
 * What became of a commit whose answer did not come. The connections beside the lost one may be lost too, so the database is asked
 * until it answers.
 * @param ask again without harm
 * @throws `lost` where it does not answer
 */
export async function outcomeOf<T>(lost: CommitUnknown, ask: () => Promise<T>): Promise<T> {
  for (const pauseMs of pausesMs) {
    await setTimeout(pauseMs);
    try {
      return await ask();
    } catch (error) {
      if (codeOf(error) !== 'database_unavailable') throw error;
    }
  }
  throw lost;
}
