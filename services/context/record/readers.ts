import { Unavailable } from '#kit/errors.ts';
import { Precedence } from './precedence.ts';
import type { ReadQueries } from './read-queries.ts';
import { Thread } from './thread.ts';

export type ReadQuery = keyof ReadQueries;
type InputOf<Q extends ReadQuery> = Parameters<ReadQueries[Q]>[1];
type OutputOf<Q extends ReadQuery> = ReturnType<ReadQueries[Q]>;

/** How many questions may wait for one thread. */
const mostWaiting = 100;
/** What people wait for. */
const urgent: ReadonlySet<ReadQuery> = new Set(['search', 'lookUpMemories']);

/** Threads that read the record, each with its own connection, so that a long query does not hold up a short one. */
export class Readers {
  readonly #threads: readonly Thread[];
  readonly #precedence = new Precedence();

  /** @param path of the SQLite file, which exists and is migrated */
  constructor(path: string, count = 2) {
    const script = new URL('./reader-thread.ts', import.meta.url);
    this.#threads = Array.from({ length: count }, () => new Thread(script, { path }));
  }

  /** Asks the thread that has least to do. @throws Unavailable (`too_busy`) */
  ask<Q extends ReadQuery>(query: Q, input: InputOf<Q>): Promise<OutputOf<Q>> {
    const idle = this.#threads.reduce((best, thread) => (thread.load < best.load ? thread : best));
    if (idle.load >= mostWaiting) {
      const waiting = this.#threads.reduce((sum, thread) => sum + thread.load, 0);
      return Promise.reject(
        new Unavailable('too_busy', `${waiting} questions wait for the record, the limit`, { retryAfter: 1 }),
      );
    }
    const answer = idle.call<OutputOf<Q>>(query, input);
    return urgent.has(query) ? this.#precedence.first(answer) : answer;
  }

  /** Resolves when nobody waits for a search or a lookup. @param longest milliseconds after which it resolves all the same */
  idle(longest: number): Promise<void> {
    return this.#precedence.idle(longest);
  }

  /** Resolves with the reason when one of the threads can read nothing any more. */
  get ended(): Promise<Error> {
    return Promise.race(this.#threads.map((thread) => thread.ended));
  }

  get damaged(): Promise<Error> {
    return Promise.race(this.#threads.map((thread) => thread.damaged));
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}
