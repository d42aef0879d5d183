import { setTimeout } from 'node:timers/promises';
import { type CoreError, codeOf, Unavailable } from '../errors.ts';

/** The connection was lost during a commit, so the transaction may be committed. `cause` is the connection error. */
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

/** Pauses before each attempt: about eight seconds in total, for a restart of the database or a failover of a proxy. */
const pausesMs = [0, 100, 400, 1_000, 2_000, 4_000];

/**
 * Writes. If the answer to the commit is lost, retries until the database answers, because other connections may be lost too.
 * @param again retry that is safe however the commit ended, and that waits for a commit in progress
 * @throws CommitUnknown if the database does not answer
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
